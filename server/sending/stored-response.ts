import { create, type JsonValue } from '@bufbuild/protobuf'
import { CheckSchema, type SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import {
  type RecipientOutcome,
  RecipientOutcomeSchema,
  SmtpEvidenceSchema,
  SuppressionSchema,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { createCollector } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { eq } from '../db/drizzle.ts'
import { stepInTime } from '../db/outage.ts'
import { kindNames, reasonNames, statusNames } from '../db/outcome-names.ts'
import { recipients } from '../db/schema.ts'
import { idsAndBounds, run, UNPREPARED } from '../db/statement.ts'
import { readStored } from '../db/stored-json.ts'
import { sendResponse } from './send-response.ts'

/**
 * Reads the outcomes of a message from history, in the order of its recipients; none while the send runs, or when there
 * is no such message.
 */
export async function storedOutcomes(db: Database, messageId: string): Promise<RecipientOutcome[]> {
  const rows = await db
    .select()
    .from(recipients)
    .where(eq(recipients.messageId, messageId))
    .orderBy(recipients.position)
  return rows.map(outcomeOfRow)
}

/** The parameters are those of `idsAndBounds`. */
const IDS = 'between $2 and $3'
export const STORED_SENDS = `select id, domain, sandbox, checks from messages where id = any($1) and id ${IDS}`
export const STORED_OUTCOMES = `
  select message_id as "messageId", email, kind, status, reason, retryable, in_doubt as "inDoubt", smtp, suppression,
    detail
  from recipients where message_id = any($1) and message_id ${IDS} order by message_id, position`

interface SendRow {
  id: string
  domain: string
  sandbox: boolean
  checks: unknown
}

/**
 * Reads the response of a send from history, undefined while the send runs. Two statements serve all requests that ask
 * at the same moment.
 */
export function createReadResponse(db: Database): (messageId: string) => Promise<SendResponse | undefined> {
  const read = createCollector<{ json: string }, SendResponse | undefined>(
    async (requests) => {
      const ids = requests.map(({ json }) => json)
      const parameters = idsAndBounds(ids)
      const [sends, outcomes] = await Promise.all([
        run<SendRow>(db, STORED_SENDS, parameters, UNPREPARED),
        run<Outcome & { messageId: string }>(db, STORED_OUTCOMES, parameters, UNPREPARED),
      ])
      const outcomesByMessage = Map.groupBy(outcomes, (row) => row.messageId)
      const responses = new Map(
        sends.map(({ id, domain, sandbox, checks }) => {
          const outcomes = outcomesByMessage.get(id)!.map(outcomeOfRow)
          const message = { messageId: id, domain }
          return [id, sendResponse(message, outcomes, sandbox ? readChecks(checks) : undefined)]
        }),
      )
      return ids.map((id) => responses.get(id))
    },
    { note: db.noteBatch('stored_sends'), groupOf: ({ json }) => json },
  )
  return (messageId) => stepInTime(db, read({ json: messageId }))
}

const readChecks = (checks: unknown) => (checks as JsonValue[]).map((check) => readStored(CheckSchema, check)!)

type Outcome = Omit<typeof recipients.$inferSelect, 'messageId' | 'accountId' | 'position' | 'eventId'>

export function outcomeOfRow(row: Outcome): RecipientOutcome {
  return create(RecipientOutcomeSchema, {
    email: row.email,
    kind: kindNames.value(row.kind),
    status: statusNames.value(row.status),
    reason: row.reason === null ? undefined : reasonNames.value(row.reason),
    smtp: readStored(SmtpEvidenceSchema, row.smtp),
    suppression: readStored(SuppressionSchema, row.suppression),
    retryable: row.retryable || undefined,
    inDoubt: row.inDoubt || undefined,
    detail: row.detail ?? undefined,
  })
}
