// What a fault run writes down. Plain values that survive JSON, so that a run can be reconciled again without it.

/** Everybody's account of one run. */
export interface Logs {
  requests: ClientEntry[]
  mail: MailLog
  /** In the order they were taken; the last one after recovery. */
  database: Snapshot[]
  processes: ProcessEvent[]
}

/** One send as its caller saw it; of a send that is repeated, each try has an entry. */
export interface ClientEntry {
  /** The subject of the message: what one request is known by in every log. */
  request: string
  /** Its Idempotency-Key. */
  key?: string
  /** Which process was asked. */
  node: string
  to: string[]
  sentAtMs: number
  endedAtMs?: number
  /** The answer; neither status nor body when the connection ended without one. */
  status?: number
  body?: unknown
  /** How the connection ended without an answer. */
  lost?: string
  /** What Get email said of the answered message afterwards. */
  readBack?: { status: number; body: unknown }
}

/** The mail exchangers' account. */
export interface MailLog {
  /** Every address that any RCPT command named. */
  named: string[]
  /** Every final dot that arrived. */
  dots: Dot[]
}

export interface Dot {
  /** From the Message-ID header: `msg_...`. */
  message: string
  /** The subject. */
  request: string
  to: string[]
  /** The code that was said to it; null when nothing was said, or nothing that is a reply. */
  reply: number | null
  atMs: number
}

/** What the database held at one moment. Ids as they are shown outside. */
export interface Snapshot {
  atMs: number
  messages: MessageRow[]
  recipients: RecipientRow[]
  events: EventRow[]
  open: OpenRow[]
}

export interface MessageRow {
  id: string
  request: string
  status: string
  reason: string | null
}

export interface RecipientRow {
  message: string
  event: string
  email: string
  status: string
  reason: string | null
  inDoubt: boolean
}

export interface EventRow {
  id: string
  message: string
  recipient: string
  status: string
  reason: string | null
}

/** A recipient of a running send. */
export interface OpenRow {
  message: string
  request: string
  email: string
  marked: boolean
  /** Names the process's hold on it. */
  claim: string
}

/** What happened to a process of the API. */
export type ProcessEvent = { node: string; atMs: number } & (
  | { event: 'started' | 'killed' | 'paused' | 'resumed' }
  /** Its last statements are done, and this is what they left open. */
  | { event: 'crashed'; open: OpenRow[] }
  /** SIGTERM, with the requests that it had accepted and not answered. */
  | { event: 'terminated'; inFlight: string[] }
  /** Its exit code or signal, and what it said on standard error. */
  | { event: 'ended'; how: number | string; lastWords?: string }
)
