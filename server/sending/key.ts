import { hash } from 'node:crypto'
import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf'
import type { KeyToTake } from '../history/claim.ts'

/** Whose key it is. The same key of another account, method or mode is another key. */
export interface IdempotencyKey extends KeyToTake {
  accountId: string
}

const PRINTABLE = /^[\x20-\x7e]{1,256}$/

/** What is wrong with a key that a caller gave, in words. */
export function keyFault(key: string): string | undefined {
  return PRINTABLE.test(key) ? undefined : 'must be 1 to 256 printable ASCII characters'
}

/** `method` is the name of a method, or of what its keys are derived for. */
export const keyScope = (method: string, sandbox: boolean) => `${method}/${sandbox ? 'sandbox' : 'live'}`

/** SHA-256 of a request, in hex. */
export function hashOf<Desc extends DescMessage>(desc: Desc, request: MessageShape<Desc>): string {
  return hash('sha256', toBinary(desc, request), 'hex')
}

/** For what has a key: it goes on when its caller leaves, since the repeat that follows finds its answer. */
export const NEVER = new AbortController().signal
