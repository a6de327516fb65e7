// The logs of a fault run. All values survive JSON, so that a run can be reconciled again from a file.

/** The logs of all participants of one run. */
export interface Logs {
  requests: ClientEntry[]
  mail: MailLog
  /** In the order in which they were taken. The last one is taken after recovery. */
  database: Snapshot[]
  processes: ProcessEvent[]
  /** Present when the run has webhook receivers. */
  webhooks?: WebhookLogs
}

/** One send as its caller saw it. Each try of a repeated send has an entry. */
export interface ClientEntry {
  /** The subject of the message. It identifies the request in every log. */
  request: string
  /** Its Idempotency-Key. */
  key?: string
  /** The process that got the request. */
  node: string
  to: string[]
  sentAtMs: number
  endedAtMs?: number
  /** The response. Status and body are absent when the connection ended without one. */
  status?: number
  body?: unknown
  /** How the connection ended without a response. */
  lost?: string
  /** What Get email later returned for the message of the response. */
  readBack?: { status: number; body: unknown }
}

/** The log of the mail exchangers. */
export interface MailLog {
  /** Every address of a RCPT command. */
  rcptAddresses: string[]
  /** Every final dot that arrived. */
  dots: Dot[]
}

export interface Dot {
  /** The message id `msg_...`, from the Message-ID header. */
  message: string
  /** The subject. */
  request: string
  to: string[]
  /** The reply code. It is null when the server sent nothing, or nothing that is a reply. */
  reply: number | null
  atMs: number
}

/** What the database held at one moment. Ids have their public form. */
export interface Snapshot {
  atMs: number
  messages: MessageRow[]
  recipients: RecipientRow[]
  events: EventRow[]
  open: OpenRow[]
  /** Read in the same transaction as the rest. */
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
  /** The fault of this service that kept it from being tried. */
  detail?: string
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
  /** The id of the process's claim on the send. */
  claim: string
}

/** What happened to a process of the API. */
export type ProcessEvent = { node: string; atMs: number } & (
  | { event: 'started' | 'killed' | 'paused' | 'resumed' }
  /** All its statements have ended. `open` is what they left open. */
  | { event: 'crashed'; open: OpenRow[] }
  /** SIGTERM was sent. `inFlight` are the requests that were accepted and had no response yet. */
  | { event: 'terminated'; inFlight: string[] }
  /** The exit code or signal, and the end of standard error. */
  | { event: 'ended'; how: number | string; stderr?: string }
)

/** The additional logs of a run with webhook receivers. Times are Unix milliseconds, as in the rows. */
export interface WebhookLogs {
  /** The retry schedule: the delay before each attempt. */
  scheduleMs: number[]
  /** The longest time for which a process or the database was stopped. What was in flight took so much longer. */
  stoppedMs?: number
  /** The log of the receivers, in the order of arrival. */
  posts: PostEntry[]
  /** The changes of endpoints, in order. */
  endpoints: EndpointEntry[]
  replays: ReplayEntry[]
}

export interface PostEntry {
  /** The URL at which it arrived. */
  url: string
  /** Values by lower-case name. */
  headers: Record<string, string>
  /** The octets in Base64. */
  body: string
  arrivedMs: number
  /** The status of the response and when it was complete. Absent when there was no complete response. */
  status?: number
  respondedMs?: number
}

/** An endpoint after one call. A deleted endpoint has no `url`. One without `statuses` asks for all. */
export interface EndpointEntry {
  /** The account's UUID. */
  account: string
  /** `whk_...` */
  endpoint: string
  url?: string
  secret?: string
  statuses?: string[]
  disabled?: boolean
  sentMs: number
  respondedMs: number
}

/** A replay as its caller saw it. */
export interface ReplayEntry {
  /** The id of the event or message: `evt_...` or `msg_...`. */
  of: string
  /** By the same clock as the times of sends. */
  sentAtMs: number
  /** The response. Absent when the connection ended without one. */
  status?: number
  body?: unknown
}

export interface WebhookRows {
  /** The time of the database's clock. */
  nowMs: number
  events: WebhookEventRow[]
  dispatches: DispatchRow[]
  attempts: AttemptRow[]
}

export interface WebhookEventRow {
  id: string
  account: string
  status: string
  createdMs: number
}

export interface DispatchRow {
  id: string
  event: string
  message: string
  account: string
  endpoint: string
  kind: string
  state: string
  createdMs: number
  /** Present when the dispatch has ended. */
  endedMs?: number
  /**
   * Present while the dispatch waits: the number of its next attempt, when that is due, and whether a workflow has it.
   */
  next?: { attempt: number; dueMs: number; handedOver: boolean }
}

export interface AttemptRow {
  dispatch: string
  number: number
  outcome: string
  status: number | null
  /** null while the outcome is unknown. */
  finishedMs: number | null
}
