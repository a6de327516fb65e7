// The types of the JSON columns in schema.ts.

/** The parts of a send request that Get email shows. Bodies only where the operator stores content. */
export interface StoredRequest {
  from: string
  to: string[]
  cc?: string[]
  bcc?: string[]
  reply_to?: string
  subject: string
  headers: [name: string, value: string][]
  attachments: { filename: string; content_type: string; content_id?: string; size_bytes: number }[]
  metadata?: Record<string, string>
  tag?: string
  /** The public id of the message that it retries. */
  retry_of?: string
  auto_text?: boolean
  raw?: boolean
  html?: string
  text?: string
}

/** The result of the last DNS check of one of a domain's records. */
export interface RecordCheck {
  /** `pending`: the record's name servers did not answer, so its status is unknown. */
  status: 'pending' | 'verified' | 'failed'
  observed: string[]
  /** What is wrong and how to fix it, for the owner of the domain. */
  error?: string
  /** The time of the check, in ISO 8601. */
  checked_at: string
}

/** How long each phase of an attempt took, in milliseconds. */
export type AttemptPhases = Partial<Record<'dns' | 'connect' | 'tls' | 'head' | 'body', number>>

/** What all processes that send from one address do at one site. Times are the database's, in milliseconds. */
export interface SiteBook {
  /** As the last process that asked has them. */
  limits: { connections: number; messages: number; perMinute?: number }
  /** By process. */
  holders: Record<string, SiteHolder>
  /** Absent while the site gets all that its limits allow. */
  pace?: { places: number; perMinute?: number; most?: number; slowedAtMs: number; raisedAtMs: number }
  /** When the site was slowed that is slowed now. */
  slowedSinceMs?: number
  /** The time up to which messages are given out. */
  dueMs: number
  /** Why the site refused a connection or a message's rate, the last time that it did. */
  lastReply?: { text: string; atMs: number }
}

/** What one process holds. */
export interface SiteHolder {
  /** The connections that it may have. */
  places: number
  /** The connections that it had at its last exchange, and those that the site had accepted. */
  open: number
  accepted: number
  /** The connections that it could use. */
  wanted: number
  untilMs: number
  /** Since when it wants a place and has none. */
  waitingSinceMs?: number
}
