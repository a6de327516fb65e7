import { type DescMethod, getOption } from '@bufbuild/protobuf'
import type { ConnectError, ContextValues } from '@connectrpc/connect'
import { takes_key } from '../../../gen/verdict/v1/options_pb.ts'
import { refusalKey } from '../../caller.ts'

/**
 * Throws the fault of a request's contents. A request with an idempotency key leaves it to its method, which throws it
 * unless the key has a response: a repeat gets that one, whatever its contents are.
 */
export function refuseContents(fault: ConnectError, method: DescMethod, values: ContextValues, hasKey: boolean): void {
  if (!hasKey || !getOption(method, takes_key)) throw fault
  if (values.get(refusalKey) === undefined) values.set(refusalKey, fault)
}
