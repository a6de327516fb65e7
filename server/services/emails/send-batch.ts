import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { type EmailService, type SendBatchRequest, SendBatchRequestSchema } from '../../../gen/verdict/v1/emails_pb.ts'
import {
  accountOf,
  callerOf,
  endWorkKey,
  itemFaultsKey,
  logFieldsKey,
  refusalKey,
  requestIdKey,
  traceKey,
} from '../../caller.ts'
import { REQUEST_LIMITS } from '../../config/limits.ts'
import { failField } from '../../errors.ts'
import type { BatchRun, SendBatch } from '../../sending/batch.ts'
import type { BatchIdempotency } from '../../sending/batch-idempotency.ts'
import { NEVER } from '../../sending/idempotency-key.ts'
import { partiesOf, type RefusedSends, type SendProtocol } from '../../sending/refused-sends.ts'
import { isDryRun, readKey, replayHeaders } from './send-headers.ts'

export interface BatchMethodParts {
  sendBatch: SendBatch
  batchIdempotency: BatchIdempotency
  refusedSends: Pick<RefusedSends, 'note'>
}

export function createSendBatch({
  sendBatch,
  batchIdempotency,
  refusedSends,
}: BatchMethodParts): ServiceImpl<typeof EmailService>['sendBatch'] {
  return async (request, context) => {
    const { emails } = request
    const accountId = accountOf(context)
    const sandbox = isDryRun(context)
    const refusal = context.values.get(refusalKey) ?? sizeFault(emails.length)
    const log = context.values.get(logFieldsKey)
    const key = readKey(context, sandbox, SendBatchRequestSchema, request)
    const faults = context.values.get(itemFaultsKey)
    let isOtherBody = false
    const run = async (signal: AbortSignal) => {
      const trace = context.values.get(traceKey)
      const result = await sendBatch(emails, { accountId, sandbox, faults, batchKey: key?.key, signal, trace })
      isOtherBody = result.mismatch
      if (!sandbox) noteRefused(result, request, context)
      if (result.cause !== undefined) log.err = result.cause
      return result
    }

    if (refusal && !key) throw refusal
    // Each message has its own turn, and a repeat waits for the first request.
    context.values.get(endWorkKey)()
    const outcome = key
      ? await batchIdempotency.once({ ...key, sandbox, refusal }, () => run(NEVER))
      : { response: (await run(context.signal)).response, replayed: false, mismatch: false }
    const { $typeName: _, ...counts } = outcome.response.summary!
    Object.assign(log, { sandbox, ...counts })
    return replayHeaders(context, { ...outcome, mismatch: outcome.mismatch || isOtherBody })
  }

  function noteRefused({ refused }: BatchRun, { emails }: SendBatchRequest, { values, protocolName }: HandlerContext) {
    const { accountId, keyId } = callerOf({ values })
    const call = { accountId, keyId, requestId: values.get(requestIdKey), protocol: protocolName as SendProtocol }
    for (const { index, error } of refused) refusedSends.note({ ...call, error, parties: partiesOf(emails[index]!) })
  }
}

function sizeFault(emails: number) {
  const { batchEmails } = REQUEST_LIMITS
  if (emails >= 1 && emails <= batchEmails) return undefined
  return failField('emails', `holds ${emails} messages; a batch takes 1 to ${batchEmails}`)
}
