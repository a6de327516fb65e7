import type { ServiceImpl } from '@connectrpc/connect'
import type { ReceiptService } from '../../gen/verdict/v1/receipts_pb.ts'
import { accountOf } from '../caller.ts'
import { claimsOf } from '../receipts/claims.ts'
import { createReadSentMessage } from '../receipts/sent-message.ts'
import type { ReceiptSigner } from '../receipts/signer.ts'
import type { Backend } from './backend.ts'
import { KEPT_EMAIL, readKeptId, unknownId } from './listing/kept-ids.ts'

export function createReceiptService({
  db,
  clock,
  publicUrl,
  signer,
}: Backend & { signer: ReceiptSigner }): ServiceImpl<typeof ReceiptService> {
  const read = createReadSentMessage(db)
  return {
    async getReceipt({ id }, context) {
      const messageId = readKeptId(KEPT_EMAIL, id, clock)
      const stored = await read(accountOf(context), messageId)
      if (!stored) throw unknownId(KEPT_EMAIL, id)
      const claims = claimsOf(stored.message, stored.recipients, { issuer: publicUrl(), nowMs: clock.now() })
      return { receipt: await signer.sign(claims) }
    },
  }
}
