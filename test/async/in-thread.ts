import { isMainThread } from 'node:worker_threads'

// What threads.test.ts runs in threads.

export const MODULE = import.meta.url

export const echo = (value: unknown) => value
export const reversed = (bytes: Uint8Array) => ({ bytes: bytes.toReversed(), small: Buffer.from('ab') })
export const throwing = () => {
  throw new Error('not like this')
}
export const ending = () => process.exit()
export const where = (..._values: unknown[]) => (isMainThread ? 'here' : 'a thread')
