import type { DescMethod } from '@bufbuild/protobuf'
import { createContextKey, type HandlerContext } from '@connectrpc/connect'
import type { Transaction } from './db/connect.ts'
import type { Trace } from './telemetry/tracing.ts'

/** The caller, as the gate identified it. The gate sets it on the context of every call before the body is read. */
export interface Caller {
  /** Empty for a person who calls a method that needs no account. */
  accountId: string
  /** Absent when a session is the credential. */
  keyId?: string
  /** Whether the key is a test key, whose sends are dry runs. */
  test: boolean
  /** The scopes of the key. */
  scopes?: ReadonlySet<string>
  /** The person whose session is the credential. */
  person?: CallingPerson
}

export interface CallingPerson {
  personId: string
  sessionId: string
  email: string
  /** What the person may do in the account; absent without an account. */
  role?: 'reader' | 'member' | 'owner'
}

/** What permits a call: a key, or a session with a role. It may be taken away while the call runs. */
export interface Right {
  /** It is not checked again when the body arrives within this time. */
  trustedMs: number
  /**
   * Throws what the gate throws when the right is gone. In a transaction it locks the rows that give the right, which
   * then lasts until the transaction ends.
   */
  check(tx?: Transaction): Promise<void>
}

/** How many more requests the caller may make. Three response headers show it. */
export interface Rate {
  /** The most requests in a window of one minute. */
  limit: number
  remaining: number
  /** The end of the window, Unix seconds. */
  resetAt: number
}

/** What a call says about its caller. */
export interface Visitor {
  /** The Authorization header. */
  authorization: string | null
  /** An IP address. */
  remoteAddress: string
  /** Whether the call is also served without a key. A key that is sent must be valid anyway. */
  keyOptional?: boolean
  /** Receives the caller's remaining requests, also when the call is refused for lack of them. */
  tellRate(rate: Rate): void
}

/** A call with a key, as the gate gets it. */
export interface GatedCall extends Visitor {
  /** undefined for paths that every caller may request, such as one that does not exist. */
  method: DescMethod | undefined
  /** The call was counted against its account's limit when it began. */
  isCounted?: boolean
  /** Receives the caller with a valid key before its call may be refused. */
  tellCaller?(caller: Caller): void
  /** Receives what permits the call, which is checked again when the body has arrived. */
  giveRight?(right: Right): void
}

/** Identifies the caller, or throws an error made by `fail`. Runs before a byte of the body is read. */
export type KeyGate = (call: GatedCall) => Promise<Caller | undefined>

/** A call with a session, as the gate gets it. */
export interface SessionCall extends Pick<Visitor, 'remoteAddress' | 'tellRate'> {
  method: DescMethod
  /** The Cookie header. */
  cookie: string | undefined
  /** The Verdict-Account header. */
  account: string | undefined
  /** Sets a Set-Cookie header on the response. */
  setCookie(value: string): void
  /** Receives what permits the call, which is checked again when the body has arrived. */
  giveRight?(right: Right): void
}

/** Identifies the person of a call, or throws an error made by `fail`. Runs before a byte of the body is read. */
export type SessionGate = (call: SessionCall) => Promise<Caller | undefined>

export const callerKey = createContextKey<Caller | undefined>(undefined, { description: 'caller' })

/** The caller of a call that the gate admitted. */
export function callerOf({ values }: Pick<HandlerContext, 'values'>): Caller {
  const caller = values.get(callerKey)
  if (!caller) throw new Error('the gate gave this call no caller')
  return caller
}

export const accountOf = (context: Pick<HandlerContext, 'values'>): string => callerOf(context).accountId

/** The right of the caller. The gate sets it on the context of every call that needs one. */
export const rightKey = createContextKey<Right | undefined>(undefined, { description: 'right' })

/** The id of the request in `X-Request-Id`, in errors and in the log. */
export const requestIdKey = createContextKey<string>('', { description: 'request id' })

/** The address that the call came from. Behind a trusted proxy, that of the proxy's client. */
export const remoteAddressKey = createContextKey<string>('', { description: 'remote address' })

/** Ends the work on a call before its end, when it begins to wait for others: see `FairTurns`. */
export const endWorkKey = createContextKey<() => void>(() => {}, { description: 'end of the work' })

/** Where the call is in its trace; undefined without one. Set when the call is admitted. */
export const traceKey = createContextKey<Trace | undefined>(undefined, { description: 'trace' })

/** The fields that a call adds to its log line. They never hold an address, a subject, a key or a secret. */
export const logFieldsKey = createContextKey<Record<string, unknown>>({}, { description: 'log fields' })

/** The fault of a request with an idempotency key. Its method throws it, unless the key has a response. */
export const refusalKey = createContextKey<Error | undefined>(undefined, { description: 'refusal' })

/** Who a refused send was from and to. */
export interface Parties {
  sender?: string
  recipients: string[]
}

export const partiesKey = createContextKey<Parties | undefined>(undefined, { description: 'parties' })

/**
 * The faults of single elements of a list, by index. Elements of such a list are handled separately, as the emails of a
 * batch are. Paths begin within the element. An element with faults may differ from what the caller wrote.
 */
export const itemFaultsKey = createContextKey<ReadonlyMap<number, { field: string; message: string }[]>>(new Map(), {
  description: 'faults of single items',
})
