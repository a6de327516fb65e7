import type { SlotRequest } from '../../net/fair-slots.ts'
import type { WireContent } from './content.ts'
import type { DanePolicy } from './dane.ts'
import type { SiteLimits } from './engine-limits.ts'
import type { SHOWN_BY_SERVERS } from './shown.ts'

// What the engine does and what it reports of each recipient. The engine knows SMTP and nothing of Verdict.

/** The phases of a conversation whose time is measured, in their order. */
export const TIMED_PHASES = ['dns', 'connect', 'greeting', 'ehlo', 'starttls', 'mail', 'rcpt', 'data', 'dot'] as const

export type TimedPhase = (typeof TIMED_PHASES)[number]

/**
 * The last phase that the conversation with the recipient's server reached. `after_dot`: we sent the final dot and read
 * no reply to it.
 */
export type Phase = TimedPhase | 'after_dot'

export const BOUNCE_REASONS = [
  'mailbox_full',
  'mailbox_does_not_exist',
  'no_mx_record',
  'connection_timeout',
  'policy_block',
  'spam_blocked',
  'temporary_failure',
] as const

export type BounceReason = (typeof BOUNCE_REASONS)[number]

export type Outcome =
  | { kind: 'delivered' }
  | { kind: 'bounced'; reason: BounceReason; retryable: boolean }
  /** We sent the final dot and lost its reply, so the outcome is unknown. The message is never sent again. */
  | { kind: 'in_doubt' }
  /** The cause is on our side: no place at the site in time, no local sockets, draining. Nothing was sent. */
  | { kind: 'our_fault'; cause: string }

/**
 * One reply of an SMTP server (RFC 5321 4.2). Its text is the lines joined by one space, without repeated codes and
 * control characters, at most 1,024 bytes.
 */
export interface Reply {
  code: number
  /** RFC 3463 status such as `5.1.1`. */
  enhanced?: string
  text: string
}

/** What a reply speaks of. A reply about anything but the mailbox proves nothing about the recipient's existence. */
export type Subject =
  /** This session or transaction: too many recipients, messages or commands in it. */
  | 'session'
  /** The sender: its address, domain, host, authentication, rate or reputation, and what a policy says about it. */
  | 'sender'
  /** The message: content, size, form. */
  | 'message'
  /** The space of the mailbox. */
  | 'space'
  /** The mailbox: unknown, disabled, moved. */
  | 'mailbox'
  /** The way to the recipient's server, of which only a late bounce speaks. */
  | 'route'

/** What a refusal says about the recipient's address, the strongest first. */
export const KINDS = [
  /** Beyond doubt that there is no such mailbox or user. */
  'unknown',
  /** The same by its status alone, beside words that no rule knows. */
  'status',
  /** The mailbox does not take mail, and may exist. */
  'refused',
  /** The mailbox has no space. */
  'full',
] as const

export type Kind = (typeof KINDS)[number]

/** Whether a kind is the same as another one or stronger. No kind is the weakest. */
export const isAtLeast = (kind: Kind | undefined, other: Kind | undefined): boolean => rankOf(kind) <= rankOf(other)

const rankOf = (kind: Kind | undefined) => (kind === undefined ? KINDS.length : KINDS.indexOf(kind))

/** Which part of a reply decided: its words, its RFC 3463 status, or nothing but its code. */
export type DecidedBy = 'words' | 'status' | 'code'

/** What a refusal speaks of, and the row of the rules that decided: `sender`, `rate`. */
export interface ReplyReading {
  subject: Subject
  row: string
  /** Absent for a refusal that proves nothing about the mailbox. */
  kind?: Kind
  /** Absent where no reply decided. */
  decidedBy?: DecidedBy
  /** The phrase of the reply that decided, where words decided. */
  words?: string
}

/** `own`: the waits of this service, also those during a phase. */
export const TIMES = [...TIMED_PHASES, 'own'] as const

/** How long each phase took, in milliseconds. A phase that was not reached, or was not needed, is absent. */
export type Timings = Partial<Record<(typeof TIMES)[number], number>>

/** A try at a host that did not decide. Its texts come from this machine, or were cleaned where they entered. */
export interface TriedHost {
  mx: string
  ip?: string
  phase: Phase
  /** The reply with its codes, or the cause where no reply tells it. */
  detail: string
}

/** A TLS session, and what its certificate proved. */
export interface TlsEvidence {
  version: string
  /** The certificate is the exchanger's, as `by` says. Required only at a host that demands it. */
  verified: boolean
  /**
   * What verified it: the TLSA records of the exchanger, an MTA-STS policy with the public authorities, or these
   * authorities alone.
   */
  by?: 'dane' | 'mta-sts' | 'pkix'
}

/** The evidence of one attempt at one recipient. */
export interface SmtpAttempt {
  phase: Phase
  outcome: Outcome
  reply?: Reply
  /** How the reply was read, when it refused. */
  reading?: ReplyReading
  /** The cause, where no reply tells it: `ECONNREFUSED 192.0.2.1`, `out of time`. */
  detail?: string
  mx?: string
  ip?: string
  tls: TlsEvidence | null
  durationMs: number
  /** The sum of all tries. The look-up is not part of it. */
  timings: Timings
  /** The deciding try went over a connection that was already open. */
  reused?: true
  /**
   * The number of the transaction that decided, where the message has several recipients. Those with the same number
   * were in one transaction.
   */
  transaction?: number
  /** The other tries, in their order. */
  tried?: TriedHost[]
}

export type Verdict = Pick<SmtpAttempt, 'phase' | 'outcome' | 'reply' | 'reading' | 'detail'>

/** One mail exchanger. The guard has vetted its addresses: the engine dials these and no others. */
export interface Host {
  name: string
  preference: number
  addresses: string[]
  port: number
  /** What its TLSA records demand. It goes before what the site demands. */
  dane?: DanePolicy
}

/** Who demands that mail reaches a host only over TLS, with a certificate that proves to be the host's. */
export type TlsDemand = 'DANE' | 'MTA-STS' | 'an unchecked MTA-STS policy' | 'the sending domain'

/** An exchanger that could not be looked up, or only in part. */
export interface SkippedHost {
  mx: string
  detail: string
  /** The look-up failed on our side. When false, the zone of the exchanger is broken or forged. */
  isOurs: boolean
  /** Only some of its addresses are unknown: the others are tried. */
  isPart?: boolean
}

/** Domains with the same set of exchangers are one site: they share connections, and each has its own transaction. */
export interface Site {
  /** A site that demands TLS has another key than the same site without that demand: see `demandTls`. */
  key: string
  /** The key without a demand of TLS, where it differs. */
  name?: string
  /** In the order in which the engine tries them. */
  hosts: Host[]
  /** Looks up the exchangers behind these, for a message that none of these has taken. */
  further?: (request: SlotRequest) => Promise<Pick<Site, 'hosts' | 'skipped'>>
  /** When absent, the engine uses TLS where it is offered, whatever the certificate, and sends in clear elsewhere. */
  tlsDemandedBy?: TlsDemand
  /** Exchangers that could not be looked up. While one of them is ours, silence of the others proves nothing. */
  skipped?: SkippedHost[]
  /** Replaces the timeout of the greeting and of each command. */
  commandTimeoutMs?: number
  /** Replaces the limits of its first exchanger's provider. */
  limits?: SiteLimits
}

export type MxLookup =
  | { kind: 'site'; site: Site }
  /** NXDOMAIN, neither MX nor A/AAAA records, or no MX name that resolves. */
  | { kind: 'no_mx_record'; detail: string }
  /** The domain's MTA-STS policy is in mode `enforce` and names none of its exchangers (RFC 8461 4.1). */
  | { kind: 'no_permitted_mx'; detail: string }
  /** Null MX (RFC 7505), or only exchangers that are private, loopback or reserved addresses, or IP literals. */
  | { kind: 'invalid_address'; detail: string }
  /** SERVFAIL, REFUSED or silence of the resolver, which proves nothing about the recipient. */
  | { kind: 'our_fault'; cause: string }

/** The account that connections and look-ups are for, and the time of its send. */
export interface Asker {
  /** Any key. Connections and look-ups are shared fairly between accounts: see `FairSlots`. */
  accountId?: string
  /** The start of the send, on the clock of `performance.now()`. */
  startedAtMs: number
  /** How long this service's own work and waits took since the start, in milliseconds, without the look-ups. */
  ownMs?: number
  /** How long the look-ups took: time that the recipient's servers did not have. */
  lookUpMs?: number
  /**
   * 15 s of it are kept for the reply to a dot; all before the dot, with any waiting, shares the rest.
   */
  budgetMs: number
  /** Aborts when the caller gives up. Honoured until the call of `beforeDot`, ignored after it. */
  signal?: AbortSignal
}

/** Local addresses that mail may leave from. */
export interface MailSources {
  addresses: readonly string[]
  /**
   * Chooses one of `addresses` for this number of emails to a provider; `undefined` when none of them may send more. By
   * default one is chosen at random.
   */
  choose?(addresses: readonly string[], provider: string, emails: number): Promise<string | undefined>
}

export interface Delivery extends Asker {
  /** Is called at the end of each phase of the conversation with a host. Times are those of `performance.now()`. */
  onPhase?(phase: TimedPhase, host: string, fromMs: number, toMs: number): void
  /** MAIL FROM of the transaction for the recipients of a domain, without angle brackets. */
  senderFor(domain: string): string
  /** What else a server may call the sender: the address and the domain of the From field. */
  from?: readonly string[]
  /** Each address without angle brackets; recipients of one domain share transactions, in this order. */
  recipients: { address: string; site: Site }[]
  /** The whole message in pieces: CRLF line ends only, dots not doubled yet, ends with CRLF. Or with doubled dots. */
  content: readonly Buffer[] | WireContent
  /** Some of its bytes are over 127: a server must offer 8BITMIME. */
  isEightBit?: boolean
  /**
   * Permits the final dot. Called once per transaction, while the content is on its way, with the indexes of the
   * recipients that the server accepted. On `false` or a throw the engine sends no dot and closes the connection, and
   * those recipients end as a fault of ours. The dot of those in `refused` was refused: an earlier permission
   * for them is over, and they wait for their own transaction.
   */
  beforeDot(recipients: number[], refused: number[]): Promise<boolean>
  /** The addresses that it may leave from; by default those of the engine. */
  sources?: MailSources
  /** The caller's name for the message; a late reply is reported with it. */
  reference?: string
}

export interface Engine {
  /** Waits as long as it takes when there is no asker. */
  lookUp(domain: string, asker?: Asker): Promise<MxLookup>
  /**
   * One attempt per recipient, in the order of `recipients`. Never throws for anything that a server or a network does.
   */
  deliver(delivery: Delivery): Promise<SmtpAttempt[]>
  /** Closes idle connections and waits for nothing. */
  close(): void
}

export interface WatchedEngine extends Engine {
  /** The connections at this moment: in use, idle, and waiting for late replies; and the sends that wait for one. */
  load(): { inUse: number; idle: number; late: number; waiting: number }
  /** Notes the servers of a domain as ones that an earlier process has reached, and the one with a good certificate. */
  remember(domain: string, verifiedMx?: string | null): Promise<void>
  /** What all servers lack of late on some way out, which is a fault of this side: see reach.ts. */
  lacking(): readonly (typeof SHOWN_BY_SERVERS)[number][]
}
