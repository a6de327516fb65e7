import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import { present } from '../present.ts'

export const msOf = (at: Timestamp | undefined) => timestampMs(present(at))
