import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type BatchItem,
  type BatchResult,
  BatchResultSchema,
  BatchSummarySchema,
  type SendBatchResponse,
  SendBatchResponseSchema,
  type SendRequest,
  SendRequestSchema,
  type SendResponse,
} from '../../gen/verdict/v1/emails_pb.ts'
import { ErrorReason, ErrorReasonSchema } from '../../gen/verdict/v1/errors_pb.ts'
import { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import { CALL_TIMES } from '../config/limits.ts'
import { enumNames } from '../enum-names.ts'
import { type FieldFault, fail, failFields, hideUnexpected, NoAnswer, wordsOfError } from '../errors.ts'
import type { Idempotency } from './idempotency.ts'
import { hashOf, type IdempotencyKey, keyFault, keyScope, NEVER } from './key.ts'
import { readMessage } from './message.ts'
import type { Send } from './send.ts'

/**
 * Messages of one batch that are sent at the same time. The last of 100 is begun in time even when every server is silent (15 s
 * before the dot); more would only wait for the few connections that one site gets, and fail for want of one.
 */
const SIDE_BY_SIDE = 25

export interface BatchOptions {
  accountId: string
  /** A dry run of all of them. */
  sandbox: boolean
  /** What is wrong with single ones already, by their index. */
  faults: ReadonlyMap<number, FieldFault[]>
  /** The key of the batch: what has no key of its own has one derived from it. */
  batchKey?: string
  /** Aborts when the caller left: what has no key is given up, and nothing more is begun. */
  signal: AbortSignal
}

export interface BatchRun {
  response: SendBatchResponse
  /** A repeat would send nothing more: no message failed for a reason that may pass. */
  isFinal: boolean
  /** A message was answered with the answer of another one that had its key before. */
  mismatch: boolean
  /** What nobody expected, for the log. */
  cause?: unknown
}

export type SendBatch = (emails: BatchItem[], options: BatchOptions) => Promise<BatchRun>

interface Ended {
  result: MessageInitShape<typeof BatchResultSchema>
  mismatch?: boolean
  cause?: unknown
}

const errorNames = enumNames<ErrorReason>(ErrorReasonSchema)
const MAY_PASS: readonly (ErrorReason | undefined)[] = [ErrorReason.RATE_LIMIT_EXCEEDED, ErrorReason.TRANSIENT_FAILURE]

export interface BatchParts {
  send: Send
  idempotency: Idempotency
  /** Aborts when the server shuts down: nothing more is begun. */
  stopping: AbortSignal
  startMs?: number
}

/**
 * Sends messages side by side; each ends with an answer or an error of its own. Throws NoAnswer when one of them does: whatever
 * stood in its place would be taken for its end, and an error would say that it is safe to retry.
 */
export function createBatch({ send, idempotency, stopping, startMs = CALL_TIMES.batchStart }: BatchParts): SendBatch {
  return async function sendBatch(emails, options) {
    const untilMs = performance.now() + startMs
    const ended: (Ended | NoAnswer)[] = []
    const queue = emails.entries()
    async function lane(): Promise<void> {
      for (const [index, email] of queue) {
        ended[index] = await sendOne(email, index, { ...options, untilMs }).catch((error) => failed(index, error))
      }
    }
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane))

    const unanswered = ended.find((one) => one instanceof NoAnswer)
    if (unanswered) throw unanswered
    const all = ended as Ended[]
    const results = all.map(({ result }) => create(BatchResultSchema, result))
    return {
      response: create(SendBatchResponseSchema, { results, summary: summaryOf(results) }),
      isFinal: !results.some(({ error }) => error !== undefined && MAY_PASS.includes(error)),
      mismatch: all.some(({ mismatch }) => mismatch),
      cause: all.find(({ cause }) => cause !== undefined)?.cause,
    }
  }

  async function sendOne(email: BatchItem, index: number, options: BatchOptions & { untilMs: number }): Promise<Ended> {
    const faults = options.faults.get(index)
    if (faults) throw failFields('invalid_payload', faults)
    const { $typeName: _, ...fields } = email
    const request = create(SendRequestSchema, fields)
    const key = keyOf(email, request, index, options)

    const { accountId, sandbox, signal, untilMs } = options
    if (stopping.aborted) throw notBegun('this server is shutting down')
    if (signal.aborted) throw notBegun('the caller left')
    if (performance.now() >= untilMs) throw notBegun(`the ${startMs / 1_000} s of its batch were over`)

    const run = async (until: AbortSignal) =>
      send(readMessage(request), { accountId, sandbox, inBatch: true, key, signal: until })
    if (!key) return answered(index, (await run(signal))!)
    const { response, mismatch } = await idempotency.once(key, () => run(NEVER))
    return { ...answered(index, response), mismatch }
  }
}

/** The key that the message at `index` has from its batch. In a scope of its own it meets nobody's, and may be longer than theirs. */
export const derivedKey = (batchKey: string, index: number, sandbox: boolean) => ({
  scope: keyScope('batchItem', sandbox),
  key: `${batchKey}#${index}`,
})

function keyOf(
  { idempotencyKey: own }: BatchItem,
  request: SendRequest,
  index: number,
  { accountId, sandbox, batchKey }: BatchOptions,
): IdempotencyKey | undefined {
  if (own === undefined && batchKey === undefined) return undefined
  const fault = own === undefined ? undefined : keyFault(own)
  if (fault) throw failFields('invalid_payload', [{ field: 'idempotency_key', message: fault }])
  const name =
    own === undefined ? derivedKey(batchKey!, index, sandbox) : { scope: keyScope('send', sandbox), key: own }
  return { accountId, ...name, requestHash: hashOf(SendRequestSchema, request) }
}

function answered(index: number, { $typeName: _, ...answer }: SendResponse): Ended {
  return { result: { index, ...answer } }
}

function failed(index: number, error: unknown): Ended | NoAnswer {
  if (error instanceof NoAnswer) return error
  const seen = hideUnexpected(error)
  const { reason, message, retryAfterSeconds: retryAfter, fields: details } = wordsOfError(seen)
  return { result: { index, error: errorNames.value(reason), message, retryAfter, details }, cause: seen.cause }
}

function summaryOf(results: BatchResult[]) {
  const having = (status: DeliveryStatus | undefined) => results.filter((result) => result.status === status).length
  return create(BatchSummarySchema, {
    total: results.length,
    delivered: having(DeliveryStatus.DELIVERED),
    bounced: having(DeliveryStatus.BOUNCED),
    rejected: having(DeliveryStatus.REJECTED),
    failed: having(undefined),
  })
}

const notBegun = (why: string) =>
  fail('transient_failure', `This message was not begun: ${why}. Nothing was sent; it is safe to retry.`)
