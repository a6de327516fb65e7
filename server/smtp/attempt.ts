import type { SiteLimits } from './limits.ts'

// What the engine says of one recipient, and what it is asked to do. Plain words: the engine knows SMTP and nothing of Verdict.

/** How far the conversation with the recipient's server came. `after_dot`: the final dot was sent and no reply to it was read. */
export type Phase =
  | 'dns'
  | 'connect'
  | 'greeting'
  | 'ehlo'
  | 'starttls'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'dot'
  | 'after_dot'

export type BounceReason =
  | 'mailbox_full'
  | 'mailbox_does_not_exist'
  | 'no_mx_record'
  | 'connection_timeout'
  | 'policy_block'
  | 'spam_blocked'
  | 'temporary_failure'

export type Outcome =
  | { kind: 'delivered' }
  | { kind: 'bounced'; reason: BounceReason; retryable: boolean }
  /** The final dot was sent and its reply was lost: nobody knows. Never sent again. */
  | { kind: 'in_doubt' }
  /** Nothing the recipient's side did: no slot in the pool in time, no local sockets, draining. Nothing was sent. */
  | { kind: 'our_fault'; cause: string }

/** One reply of an SMTP server (RFC 5321 4.2), lines joined by one space, repeated codes stripped, at most 1,024 bytes, no controls. */
export interface Reply {
  code: number
  /** RFC 3463 status such as `5.1.1`. */
  enhanced?: string
  text: string
}

/** The evidence of one attempt at one recipient. */
export interface Attempt {
  phase: Phase
  outcome: Outcome
  reply?: Reply
  /** Why, where no reply says it: `ECONNREFUSED 192.0.2.1`, `out of time`. */
  detail?: string
  mx?: string
  ip?: string
  tls: { version: string; verified: boolean } | null
  durationMs: number
}

export type Verdict = Pick<Attempt, 'phase' | 'outcome' | 'reply' | 'detail'>

/** One mail exchanger, its addresses already vetted by the guard: what is listed here is what is dialled. */
export interface Host {
  name: string
  preference: number
  addresses: string[]
  port: number
}

/** Who wants nothing to be sent to a host without TLS and a certificate that is trusted and names it. */
export type TlsDemand = 'MTA-STS' | 'the sending domain'

/** Domains with the same set of exchangers are one site: they share connections and a transaction. */
export interface Site {
  /** Of a site that demands TLS another one than without: see `demandTls`. */
  key: string
  /** In the order to be tried. */
  hosts: Host[]
  /** Absent: TLS where it is offered, whatever its certificate, else in clear. */
  tlsDemandedBy?: TlsDemand
  /** Replaces the limit of the greeting and of each command. */
  commandTimeoutMs?: number
  /** Replaces what the provider of its first exchanger asks for. */
  limits?: SiteLimits
}

export type Lookup =
  | { kind: 'site'; site: Site }
  /** NXDOMAIN, neither MX nor A/AAAA, or MX names of which none resolves. */
  | { kind: 'no_mx_record'; detail: string }
  /** The domain's MTA-STS policy is to be enforced and names none of its exchangers (RFC 8461 4.1). */
  | { kind: 'no_permitted_mx'; detail: string }
  /** Null MX (RFC 7505), exchangers that are all private, loopback or reserved, or IP literals. */
  | { kind: 'invalid_address'; detail: string }
  /** SERVFAIL, REFUSED or silence of the resolver: proves nothing about the recipient. */
  | { kind: 'our_fault'; cause: string }

/** Who asks, where connections and look-ups are scarce. */
export interface Asker {
  /** Turns that wait are served one after the other: many requests of one do not delay another. */
  turn?: string
  /** When the send began, on the clock of `performance.now()`. */
  startedAtMs: number
  /** The reply to the dot gets half of it and at least 15 s; everything before the dot, waiting included, shares the rest. */
  budgetMs: number
  /** The caller gave up. Honoured until `beforeDot` is asked, ignored from then on. */
  signal?: AbortSignal
}

export interface Delivery extends Asker {
  /** MAIL FROM, without angle brackets. */
  sender: string
  /** Each address without angle brackets; those of one site share one transaction, in this order. */
  recipients: { address: string; site: Site }[]
  /** The whole message in pieces: CRLF line ends only, not yet dot-stuffed, ends with CRLF. */
  content: readonly Buffer[]
  /**
   * Asked once per transaction, while the content is on its way, with the indexes of the recipients the server accepted.
   * `false` or a throw: the dot is not sent, the connection is closed and those recipients end bounced/temporary_failure.
   */
  beforeDot(recipients: number[]): Promise<boolean>
  /** What the caller knows the message by: a late reply is told with it. */
  reference?: string
}

export interface Engine {
  /** Without an asker it waits as long as it takes. */
  lookUp(domain: string, asker?: Asker): Promise<Lookup>
  /** One attempt per recipient, in the order of `recipients`. Never throws for anything a server or a network does. */
  deliver(delivery: Delivery): Promise<Attempt[]>
  /** Closes idle connections, waits for nothing. */
  close(): void
}
