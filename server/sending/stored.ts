import { create, fromJson, type JsonValue } from '@bufbuild/protobuf'
import { and, eq, gte, inArray, lte } from 'drizzle-orm'
import { CheckSchema, type SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import {
  type RecipientOutcome,
  RecipientOutcomeSchema,
  SmtpEvidenceSchema,
  SuppressionSchema,
} from '../../gen/verdict/v1/outcomes_pb.ts'
import { collector } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { inTime } from '../db/in-time.ts'
import { messages, recipients } from '../db/schema.ts'
import { answer } from './answer.ts'
import { reasonWords, statusWords } from './outcome.ts'

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

/** The answer of a send as history has it, undefined while it runs. Two statements serve all who ask at the same moment. */
export function storedAnswers(db: Database): (messageId: string) => Promise<SendResponse | undefined> {
  const read = collector<{ json: string }, SendResponse | undefined>(async (asked) => {
    const ids = asked.map(({ json }) => json)
    const sorted = ids.toSorted()
    const [first, last] = [sorted[0]!, sorted.at(-1)!]
    // The bounds are what keeps the look-up to the days that can hold the ids.
    const [sends, outcomes] = await Promise.all([
      db
        .select({ id: messages.id, sandbox: messages.sandbox, checks: messages.checks })
        .from(messages)
        .where(and(gte(messages.id, first), lte(messages.id, last), inArray(messages.id, ids))),
      db
        .select()
        .from(recipients)
        .where(
          and(gte(recipients.messageId, first), lte(recipients.messageId, last), inArray(recipients.messageId, ids)),
        )
        .orderBy(recipients.messageId, recipients.position),
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

export function outcomeOfRow(row: typeof recipients.$inferSelect): RecipientOutcome {
  return create(RecipientOutcomeSchema, {
    email: row.email,
    status: statusWords.value(row.status),
    reason: row.reason === null ? undefined : reasonWords.value(row.reason),
    smtp: row.smtp === null ? undefined : fromJson(SmtpEvidenceSchema, row.smtp as JsonValue),
    suppression: row.suppression === null ? undefined : fromJson(SuppressionSchema, row.suppression as JsonValue),
    retryable: row.retryable || undefined,
    inDoubt: row.inDoubt || undefined,
  })
}
