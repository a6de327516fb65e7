import { create, type JsonValue } from '@bufbuild/protobuf'
import {
  EvidenceSchema,
  type SmtpEvidence,
  SmtpEvidenceSchema,
  SmtpPhase,
} from '../../../gen/verdict/v1/outcomes_pb.ts'
import type { Database } from '../../db/connect.ts'
import { type EventKind, NEEDS_MESSAGE } from '../../db/event-kinds.ts'
import { idsAndBounds, run, UNPREPARED, uuidArray } from '../../db/statement.ts'
import { readStored } from '../../db/stored-json.ts'

// The rows of the recipients have the evidence for outcomes.
const EVIDENCE = `
  select event_id as "eventId", smtp, retryable, in_doubt as "inDoubt", detail
  from recipients
  where message_id = any($1::uuid[]) and message_id between $2 and $3 and event_id = any($4::uuid[])`

interface EvidenceRow {
  eventId: string
  smtp: JsonValue
  retryable: boolean
  inDoubt: boolean
  detail: string | null
}

export interface EventEvidence {
  smtp?: SmtpEvidence
  retryable?: boolean
  inDoubt?: boolean
  detail?: string
}

/** What a report quotes and how it was read, in place of the evidence for an outcome. */
export function evidenceOfReport(stored: JsonValue): SmtpEvidence | undefined {
  const evidence = readStored(EvidenceSchema, stored)
  if (!evidence) return undefined
  const { code, enhanced, reply, readAs, decidedBy, words } = evidence
  return create(SmtpEvidenceSchema, { phase: SmtpPhase.LATE, code, enhanced, reply, readAs, decidedBy, words })
}

/**
 * Reads the evidence for outcomes. It is empty for feedback, and for an outcome whose message is beyond its retention.
 */
export async function evidencesOf(
  db: Database,
  events: readonly { id: string; messageId: string; event: EventKind }[],
): Promise<(eventId: string) => EventEvidence> {
  const outcomes = events.filter(({ event }) => NEEDS_MESSAGE[event])
  if (outcomes.length === 0) return () => ({})
  const messageIds = outcomes.map(({ messageId }) => messageId)
  const eventIds = outcomes.map(({ id }) => id)
  const parameters = [...idsAndBounds(messageIds), uuidArray(eventIds)]
  const rows = await run<EvidenceRow>(db, EVIDENCE, parameters, UNPREPARED)
  const byEvent = new Map(rows.map((row) => [row.eventId, evidenceOfRow(row)]))
  return (eventId) => byEvent.get(eventId) ?? {}
}

const evidenceOfRow = ({ smtp, retryable, inDoubt, detail }: EvidenceRow): EventEvidence => ({
  smtp: readStored(SmtpEvidenceSchema, smtp),
  retryable: retryable || undefined,
  inDoubt: inDoubt || undefined,
  detail: detail ?? undefined,
})
