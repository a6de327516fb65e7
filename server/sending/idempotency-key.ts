import { hash } from 'node:crypto'
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import type { KeyToTake } from '../ledger/claim.ts'
import { requestBytes } from './request-bytes.ts'

/** A key with its account. The same key of another account, method or mode is another key. */
export interface IdempotencyKey extends KeyToTake {
  accountId: string
}

const PRINTABLE = /^[\x20-\x7e]{1,256}$/

/** Describes the fault of a caller's key; undefined when it has none. */
export function keyFault(key: string): string | undefined {
  return PRINTABLE.test(key) ? undefined : 'must be 1 to 256 printable ASCII characters'
}

/** `method` is the name of a method, or `batchItem` for keys that a batch derives. */
export const keyScope = (method: string, sandbox: boolean) => `${method}/${sandbox ? 'sandbox' : 'live'}`

/** SHA-256 of a request, in hex. */
export function hashOf<Desc extends DescMessage>(desc: Desc, request: MessageShape<Desc>): string {
  return hash('sha256', requestBytes(desc, request), 'hex')
}

/** The signal of requests with a key: they go on when their callers leave, and the repeat finds their response. */
export const NEVER = new AbortController().signal
