import type { ServiceImpl } from '@connectrpc/connect'
import type { ReceiptService } from '../../gen/verdict/v1/receipts_pb.ts'
import { callerKey } from '../caller.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { and, eq } from '../db/drizzle.ts'
import { messages, recipients } from '../db/schema.ts'
import { claimsOf } from '../receipts/claims.ts'
import type { ReceiptSigner } from '../receipts/signer.ts'
import { noSuchEmail, readMessageId } from './message-id.ts'

interface ReceiptServiceParts {
  db: Database
  clock: DatabaseClock
  signer: ReceiptSigner
  /** The issuer of receipts: where callers reach this server, without the last slash. */
  publicUrl(): string
}

export function receiptService(parts: ReceiptServiceParts): ServiceImpl<typeof ReceiptService> {
  const { db, clock, signer, publicUrl } = parts
  return {
    async getReceipt({ id }, context) {
      const { accountId } = context.values.get(callerKey)!
      const messageId = readMessageId(id, clock)
      const [[message], outcomes] = await Promise.all([
        db
          .select()
          .from(messages)
          .where(and(eq(messages.id, messageId), eq(messages.accountId, accountId))),
        db.select().from(recipients).where(eq(recipients.messageId, messageId)).orderBy(recipients.position),
      ])
      if (!message) throw noSuchEmail(id)
      const claims = claimsOf(message, outcomes, { issuer: publicUrl(), nowMs: clock.now() })
      return { receipt: await signer.sign(claims) }
    },
  }
}
