import { execFileSync } from 'node:child_process'
import { fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { type Comments, commentsOf } from './comments.ts'

/** The comments of the contract. It is compiled for them, because generated code omits them. */
export function contractComments(): Comments {
  const compiled = execFileSync('buf', ['build', '--as-file-descriptor-set', '--output', '-#format=binpb'], {
    cwd: new URL('../..', import.meta.url).pathname,
    maxBuffer: 2 ** 26,
  })
  return commentsOf(fromBinary(FileDescriptorSetSchema, compiled))
}
