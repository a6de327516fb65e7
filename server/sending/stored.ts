import { create, fromJson, type JsonValue } from '@bufbuild/protobuf'
import { CheckSchema, type SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import {
  type RecipientOutcome,
  RecipientOutcomeSchema,
  SmtpEvidenceSchema,
  SuppressionSchema,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { collector } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { eq } from '../db/drizzle.ts'
import { recipients } from '../db/schema.ts'
import { inTime } from '../in-time.ts'
import { answer } from './answer.ts'
import { reasonNames, statusNames } from './outcome.ts'

const READ_MS = 5_000

/** The outcomes of a message in history, in the order of its recipients; none while it runs, or when there is no such message. */
export async function storedOutcomes(db: Database, messageId: string): Promise<RecipientOutcome[]> {
  const rows = await db
    .select()
    .from(recipients)
    .where(eq(recipients.messageId, messageId))
    .orderBy(recipients.position)
  return rows.map(outcomeOfRow)
}

// The bounds are what keeps the look-up to the days that can hold the ids, and only a plan made for them looks at no other day: these
// are not prepared.
const IDS = 'between $2 and $3'
const SENDS = `select id, sandbox, checks from messages where id = any($1) and id ${IDS}`
const OUTCOMES = `
  select message_id as "messageId", email, status, reason, retryable, in_doubt as "inDoubt", smtp, suppression
  from recipients where message_id = any($1) and message_id ${IDS} order by message_id, position`

/** The answer of a send as history has it, undefined while it runs. Two statements serve all who ask at the same moment. */
export function storedAnswers(db: Database): (messageId: string) => Promise<SendResponse | undefined> {
  const read = collector<{ json: string }, SendResponse | undefined>(async (asked) => {
    const ids = asked.map(({ json }) => json)
    const sorted = ids.toSorted()
    const parameters = [`{${sorted}}`, sorted[0]!, sorted.at(-1)!]
    const [sends, outcomes] = await Promise.all([
      db.$client.unsafe(SENDS, parameters),
      db.$client.unsafe<(Outcome & { messageId: string })[]>(OUTCOMES, parameters),
    ])
    const byMessage = Map.groupBy(outcomes, (row) => row.messageId)
    const answers = new Map(
      sends.map(({ id, sandbox, checks }) => [
        id,
        answer(id, byMessage.get(id)!.map(outcomeOfRow), sandbox ? readChecks(checks) : undefined),
      ]),
    )
    return ids.map((id) => answers.get(id))
  })
  return (messageId) => inTime(read({ json: messageId }), READ_MS)
}

const readChecks = (checks: unknown) => (checks as JsonValue[]).map((check) => fromJson(CheckSchema, check))

type Outcome = Omit<typeof recipients.$inferSelect, 'messageId' | 'position' | 'eventId'>

export function outcomeOfRow(row: Outcome): RecipientOutcome {
  return create(RecipientOutcomeSchema, {
    email: row.email,
    status: statusNames.value(row.status),
    reason: row.reason === null ? undefined : reasonNames.value(row.reason),
    smtp: row.smtp === null ? undefined : fromJson(SmtpEvidenceSchema, row.smtp),
    suppression: row.suppression === null ? undefined : fromJson(SuppressionSchema, row.suppression),
    retryable: row.retryable || undefined,
    inDoubt: row.inDoubt || undefined,
  })
}
