import { create } from '@bufbuild/protobuf'
import { timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import { EventSchema } from '../../../gen/verdict/v1/events_pb.ts'
import type { Database } from '../../db/connect.ts'
import { publicId } from '../../db/ids.ts'
import { feedbackNames, kindNames, reasonNames, statusNames } from '../../db/outcome-names.ts'
import type { events } from '../../db/schema.ts'
import { idsAndBounds, run, UNPREPARED } from '../../db/statement.ts'
import { shownEnd } from '../attempt-outcomes.ts'
import { type DispatchSummary, summariesOf } from './event-dispatches.ts'
import { type EventEvidence, evidenceOfReport, evidencesOf } from './event-evidence.ts'

export type EventRow = typeof events.$inferSelect

const SUBJECTS = `
  select id, request ->> 'subject' as subject from messages where id = any($1::uuid[]) and id between $2 and $3`

interface Shown {
  /** PostgreSQL reads the whole stored content of a message for its subject: no stream of all events can have it. */
  withSubjects: boolean
}

/** The events of an account as streams show them, each with its row. */
export async function streamedEvents<Row extends EventRow>(db: Database, accountId: string, rows: readonly Row[]) {
  const fieldsOf = await fieldsOfEvents(db, accountId, rows, { withSubjects: false })
  return rows.map((row) => ({ row, shown: create(EventSchema, fieldsOf(row)) }))
}

/** Reads what the rows of some events lack: their attempts, their evidence and the subject of their message. */
export async function fieldsOfEvents(
  db: Database,
  accountId: string,
  rows: readonly EventRow[],
  { withSubjects }: Shown,
) {
  const ids = rows.map(({ id }) => id)
  const summaryOf = await summariesOf(db, accountId, ids)
  const evidenceOf = await evidencesOf(db, rows)
  const subjects = withSubjects ? await subjectsOf(db, rows) : new Map<string, string>()
  return (row: EventRow) => ({
    ...fieldsOf(row, summaryOf(row.id), evidenceOf(row.id)),
    subject: subjects.get(row.messageId),
  })
}

async function subjectsOf(db: Database, rows: readonly EventRow[]): Promise<Map<string, string>> {
  if (rows.length === 0) return new Map()
  const messageIds = rows.map(({ messageId }) => messageId)
  const found = await run<{ id: string; subject: string }>(db, SUBJECTS, idsAndBounds(messageIds), UNPREPARED)
  return new Map(found.map(({ id, subject }) => [id, subject]))
}

function fieldsOf(row: EventRow, summary: DispatchSummary, evidence: EventEvidence) {
  const { attempts, acknowledgedMs, nextMs, lastFailed } = summary
  const { statusCode, detail } = lastFailed ? shownEnd(lastFailed) : {}
  return {
    eventId: publicId('evt', row.id),
    messageId: publicId('msg', row.messageId),
    status: statusNames.value(row.status),
    timestamp: timestampFromDate(row.createdAt),
    reason: row.reason === null ? undefined : reasonNames.value(row.reason),
    recipient: row.recipient,
    tenantId: row.tenantId ?? undefined,
    sandbox: row.sandbox,
    attempts,
    acknowledgedAt: acknowledgedMs === null ? undefined : timestampFromMs(acknowledgedMs),
    nextAttemptAt: nextMs === null ? undefined : timestampFromMs(nextMs),
    event: row.event,
    kind: kindNames.value(row.kind),
    feedback: row.feedback === null ? undefined : feedbackNames.value(row.feedback),
    detail: row.detail ?? undefined,
    tag: row.tag ?? undefined,
    metadata: row.metadata ?? {},
    member: row.isMember || undefined,
    lastStatusCode: statusCode,
    lastDetail: detail,
    smtp: evidenceOfReport(row.evidence),
    ...evidence,
  }
}
