import type { JsonValue } from '@bufbuild/protobuf'
import { EvidenceSchema } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { EventKind } from './event-kinds.ts'
import { decidedByNames } from './outcome-names.ts'
import type { events } from './schema.ts'
import { readStored } from './stored-json.ts'

type EventRow = typeof events.$inferSelect

/** The version of the payload of new events: see webhooks/attempt/payload.ts. */
export const PAYLOAD_VERSION = 2

interface EventFields
  extends Pick<
    EventRow,
    | 'id'
    | 'messageId'
    | 'accountId'
    | 'status'
    | 'reason'
    | 'recipient'
    | 'sandbox'
    | 'tag'
    | 'metadata'
    | 'tenantId'
    | 'payload'
  > {
  /** Unix milliseconds. */
  createdAtMs: number
}

/** The outcome of a recipient, as its rows have it: ids are UUIDs, status and reason their short names. */
export interface DeliveryEvent extends EventFields {
  event: 'email.delivery'
  smtp: PayloadEvidence | null
  inDoubt: boolean
  retryable: boolean
  /** The fault of this service that kept the recipient from being tried. */
  detail: string | null
}

export interface PayloadEvidence {
  mx?: string
  code?: number
  enhanced?: string
  reply?: string
}

/**
 * The part of an outcome's evidence, JSON of `verdict.v1.SmtpEvidence`, that payloads carry. null when nothing of it is
 * there: no server was asked.
 */
export function evidenceOf(smtp: unknown): PayloadEvidence | null {
  const { mx, code, enhanced, reply } = (smtp ?? {}) as PayloadEvidence
  const evidence = { mx, code, enhanced, reply }
  return Object.values(evidence).some((field) => field !== undefined) ? evidence : null
}

/** A later report about a recipient. `status` is the outcome that the recipient had before it. */
export interface FeedbackEvent extends EventFields, Pick<EventRow, 'feedback' | 'detail' | 'isMember'> {
  event: 'email.feedback'
  smtp: ReportEvidence | null
}

export interface ReportEvidence {
  code?: number
  enhanced?: string
  reply?: string
  decided_by?: string
  words?: string
}

/** The part of a report's evidence, JSON of `verdict.v1.Evidence`, that payloads carry. null when it has nothing. */
export function reportEvidenceOf(stored: JsonValue): ReportEvidence | null {
  const { code, enhanced, reply, decidedBy, words } = readStored(EvidenceSchema, stored) ?? {}
  const evidence = { code, enhanced, reply, decided_by: decidedBy ? decidedByNames.name(decidedBy) : undefined, words }
  return Object.values(evidence).some((field) => field !== undefined) ? evidence : null
}

interface ByKind {
  'email.delivery': DeliveryEvent
  'email.feedback': FeedbackEvent
}

export type StoredEvent = ByKind[EventKind]
