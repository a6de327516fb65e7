import { create, fromJson, type JsonValue } from '@bufbuild/protobuf'
import { eq } from 'drizzle-orm'
import { type RecipientOutcome, RecipientOutcomeSchema, SmtpEvidenceSchema } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Database } from '../db/connect.ts'
import { recipients } from '../db/schema.ts'
import { reasonWords, statusWords } from './outcome.ts'

/** The outcomes of a message in history, in the order of its recipients; none while it runs, or when there is no such message. */
export async function storedOutcomes(db: Database, messageId: string): Promise<RecipientOutcome[]> {
  const rows = await db
    .select()
    .from(recipients)
    .where(eq(recipients.messageId, messageId))
    .orderBy(recipients.position)
  return rows.map(outcomeOfRow)
}

export function outcomeOfRow(row: typeof recipients.$inferSelect): RecipientOutcome {
  return create(RecipientOutcomeSchema, {
    email: row.email,
    status: statusWords.value(row.status),
    reason: row.reason === null ? undefined : reasonWords.value(row.reason),
    smtp: row.smtp === null ? undefined : fromJson(SmtpEvidenceSchema, row.smtp as JsonValue),
    retryable: row.retryable || undefined,
    inDoubt: row.inDoubt || undefined,
  })
}
