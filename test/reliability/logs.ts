// What a fault run writes down. Plain values that survive JSON, so that a run can be reconciled again without it.

/** Everybody's account of one run. */
export interface Logs {
  requests: ClientEntry[]
  mail: MailLog
  /** In the order they were taken; the last one after recovery. */
  database: Snapshot[]
  processes: ProcessEvent[]
  /** Of a run with webhook receivers. */
  webhooks?: WebhookLogs
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
  /** Read in the same transaction. */
  webhooks?: WebhookRows
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

/** What a run with webhook receivers writes down beside. Times are Unix milliseconds, as the rows have them. */
export interface WebhookLogs {
  /** The retry schedule: what comes before each attempt. */
  scheduleMs: number[]
  /** The receivers' account, in the order of arrival. */
  posts: PostEntry[]
  /** How the endpoints were set, in order. */
  endpoints: EndpointEntry[]
  replays: ReplayEntry[]
}

export interface PostEntry {
  /** Where it arrived. */
  url: string
  /** By lower-case name. */
  headers: Record<string, string>
  /** Base64 of the octets. */
  body: string
  arrivedMs: number
  /** What the whole answer said, and when it was written; absent when there was none. */
  status?: number
  answeredMs?: number
}

/** An endpoint as it was after one call; without a url it was deleted. */
export interface EndpointEntry {
  /** UUID. */
  account: string
  url?: string
  secret?: string
  sentMs: number
  answeredMs: number
}

/** A replay as its caller saw it. */
export interface ReplayEntry {
  /** `evt_...` or `msg_...` */
  of: string
  /** By the clock of the sends. */
  sentAtMs: number
  /** The answer; absent when the connection ended without one. */
  status?: number
  body?: unknown
}

export interface WebhookRows {
  /** By the database's clock. */
  nowMs: number
  events: { id: string; account: string; createdMs: number }[]
  dispatches: DispatchRow[]
  attempts: AttemptRow[]
}

export interface DispatchRow {
  id: string
  event: string
  message: string
  account: string
  kind: string
  state: string
  createdMs: number
  /** Of one that is over. */
  endedMs?: number
  /** Of one that waits: the number of its next attempt, when that is due, and whether a workflow has it. */
  next?: { attempt: number; dueMs: number; handedOver: boolean }
}

export interface AttemptRow {
  dispatch: string
  number: number
  outcome: string
  status: number | null
  /** null while nobody knows how it ended. */
  finishedMs: number | null
}
