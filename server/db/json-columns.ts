// What the JSON columns of schema.ts hold.

/** The parts of a send request that Get email shows. Bodies only where the operator stores content. */
export interface StoredRequest {
  from: string
  to: string[]
  reply_to?: string
  subject: string
  headers: [name: string, value: string][]
  attachments: { filename: string; content_type: string; size_bytes: number }[]
  html?: string
  text?: string
}

/** What DNS had at the last check of a record of a domain. */
export interface RecordCheck {
  /** `pending`: unknown, because the record's name servers did not answer. */
  status: 'pending' | 'verified' | 'failed'
  observed: string[]
  /** What is wrong and how to fix it, for the owner of the domain. */
  error?: string
  /** ISO 8601. */
  checked_at: string
}

/** How long each phase of an attempt took, in milliseconds. */
export type AttemptPhases = Partial<Record<'dns' | 'connect' | 'tls' | 'head' | 'body', number>>
