import { createContextKey } from '@connectrpc/connect'

/** Who makes a call, as the gate found it: set on the context of every call before its body is read. */
export interface Caller {
  accountId: string
  keyId: string
  /** A test key: sends are dry runs. */
  test: boolean
}

/** How much the caller may still ask, as the three headers tell it. */
export interface Rate {
  /** Requests in a window of a minute. */
  limit: number
  remaining: number
  /** When the window ends, Unix seconds. */
  resetAt: number
}

export const callerKey = createContextKey<Caller | undefined>(undefined, { description: 'caller' })

/** The id of the request in `X-Request-Id`, in errors and in the log. */
export const requestIdKey = createContextKey<string>('', { description: 'request id' })

/** What a call adds to its one line in the log. Never an address, a subject, a key or a secret. */
export const logFieldsKey = createContextKey<Record<string, unknown>>({}, { description: 'log fields' })

/**
 * Of a request with a list whose elements stand alone: what is wrong with single ones, by their index, with paths that begin within
 * the element. Such an element may not be what the caller wrote.
 */
export const itemFaultsKey = createContextKey<ReadonlyMap<number, { field: string; message: string }[]>>(new Map(), {
  description: 'faults of single items',
})
