import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { ConnectError } from '@connectrpc/connect'
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
import { asManyAsLeft, FairSlots } from '../../net/fair-slots.ts'
import type { FairTurns } from '../../net/fair-turns.ts'
import { CALL_TIMES } from '../config/limits.ts'
import { enumNames } from '../db/enum-names.ts'
import { contentsOfError, type FieldFault, fail, failFields, hideUnexpected, OutcomeUnknown } from '../errors.ts'
import { passedOn, step, type Trace } from '../telemetry/tracing.ts'
import type { Idempotency } from './idempotency.ts'
import { hashOf, type IdempotencyKey, keyFault, keyScope, NEVER } from './idempotency-key.ts'
import { readRequest } from './message.ts'
import type { Send } from './send.ts'

/**
 * Messages of one batch that are sent at the same time. The last of 100 starts in time even when every server is silent
 * (15 s before the dot). More would only wait for the few connections that one site gets, and fail for lack of one.
 */
const CONCURRENT_MESSAGES = 25

/** The most messages of all batches that are sent at the same time; those of one account leave as many free. */
const ALL_MESSAGES = 2_048

export interface BatchOptions {
  accountId: string
  /** A dry run of all messages. */
  sandbox: boolean
  /** Faults that were found in messages before, by their index. */
  faults: ReadonlyMap<number, FieldFault[]>
  /** The key of the batch: a message without its own key gets one derived from it. */
  batchKey?: string
  /** Aborts when the caller has left: messages without a key are given up, and no further message starts. */
  signal: AbortSignal
  trace?: Trace
}

export interface BatchRun {
  response: SendBatchResponse
  /** A repeat would send nothing more: no message failed for a temporary reason. */
  isFinal: boolean
  /** A message got the response of another one that had used its key before. */
  mismatch: boolean
  /** The first unexpected error, for the log. */
  cause?: unknown
  /** The messages that ended with an error. */
  refused: { index: number; error: ConnectError }[]
}

export type SendBatch = (emails: BatchItem[], options: BatchOptions) => Promise<BatchRun>

interface MessageResult {
  result: MessageInitShape<typeof BatchResultSchema>
  mismatch?: boolean
  error?: ConnectError
}

const errorNames = enumNames(ErrorReasonSchema)
const TEMPORARY_ERRORS: readonly (ErrorReason | undefined)[] = [
  ErrorReason.RATE_LIMIT_EXCEEDED,
  ErrorReason.TRANSIENT_FAILURE,
]

export interface BatchParts {
  send: Send
  idempotency: Idempotency
  turns: FairTurns
  /** Aborts when the server shuts down: no further message starts. */
  stopping: AbortSignal
  startMs?: number
  allMessages?: number
}

/**
 * Implements SendBatch: sends messages concurrently, and each ends with its own response or error. Throws
 * OutcomeUnknown when one of them does: anything in its place would be taken for its outcome, and an error would say
 * that it is safe to retry.
 */
export function createBatch(parts: BatchParts): SendBatch {
  const { startMs = CALL_TIMES.batchStartMs, allMessages = ALL_MESSAGES } = parts
  const places = new FairSlots({ slots: allMessages, perAccount: asManyAsLeft })
  return async (emails, options) => {
    const within = { ...options, startMs, untilMs: performance.now() + startMs }
    const outcomes: (MessageResult | OutcomeUnknown)[] = []
    const queue = emails.entries()
    async function sendFromQueue(): Promise<void> {
      for (const [index, email] of queue) {
        // Without a place in time, the message is not started.
        const leave = await places.acquire(within)
        const endWork = await parts.turns.beginWork(options.accountId)
        const sending = sendOne(parts, email, index, { ...within, endWork })
        outcomes[index] = await sending.catch((error) => failureOf(index, error))
        endWork()
        leave?.()
      }
    }
    await Promise.all(Array.from({ length: CONCURRENT_MESSAGES }, sendFromQueue))

    const outcomeUnknown = outcomes.find((outcome) => outcome instanceof OutcomeUnknown)
    if (outcomeUnknown) throw outcomeUnknown
    const all = outcomes as MessageResult[]
    const results = all.map(({ result }) => create(BatchResultSchema, result))
    const refused = all.flatMap(({ error }, index) => (error ? [{ index, error }] : []))
    return {
      response: create(SendBatchResponseSchema, { results, summary: summaryOf(results) }),
      isFinal: !results.some(({ error }) => TEMPORARY_ERRORS.includes(error)),
      mismatch: all.some(({ mismatch }) => mismatch),
      cause: refused.find(({ error }) => error.cause !== undefined)?.error.cause,
      refused,
    }
  }
}

async function sendOne(
  { send, idempotency, stopping }: BatchParts,
  email: BatchItem,
  index: number,
  options: BatchOptions & { startMs: number; untilMs: number; endWork(): void },
): Promise<MessageResult> {
  const faults = options.faults.get(index)
  if (faults) throw failFields('invalid_payload', faults)
  const { $typeName: _, ...fields } = email
  const request = create(SendRequestSchema, fields)
  const key = keyOf(email, request, index, options)

  const { accountId, sandbox, signal, startMs, untilMs, trace, endWork } = options
  const checkStart = () => {
    if (stopping.aborted) throw notStarted('this server is shutting down')
    if (signal.aborted) throw notStarted('the caller left')
    if (performance.now() >= untilMs) throw notStarted(`the ${startMs / 1_000} s of its batch were over`)
  }
  checkStart()

  // One span for each message: the steps of a thousand sends would be too many spans for one trace.
  const sendUntil = (until: AbortSignal) =>
    step(trace, 'send', async (span = trace) => {
      const message = await readRequest(request, { accountId })
      checkStart()
      const options = { accountId, sandbox, inBatch: true, key, signal: until, endWork }
      return send(message, { ...options, trace: passedOn(span?.traceparent) })
    })
  if (!key) return resultOf(index, (await sendUntil(signal))!)
  const { response, mismatch } = await idempotency.once(key, () => sendUntil(NEVER), endWork)
  return { ...resultOf(index, response), mismatch }
}

/**
 * The key that the message at `index` derives from its batch. Its scope is separate, so it never equals a caller's key,
 * and may be longer than one.
 */
export const derivedKey = (batchKey: string, index: number, sandbox: boolean) => ({
  scope: keyScope('batchItem', sandbox),
  key: `${batchKey}#${index}`,
})

function keyOf(
  { idempotencyKey: ownKey }: BatchItem,
  request: SendRequest,
  index: number,
  { accountId, sandbox, batchKey }: BatchOptions,
): IdempotencyKey | undefined {
  const fault = ownKey === undefined ? undefined : keyFault(ownKey)
  if (fault) throw failFields('invalid_payload', [{ field: 'idempotency_key', message: fault }])
  const derived = batchKey === undefined ? undefined : derivedKey(batchKey, index, sandbox)
  const name = ownKey === undefined ? derived : { scope: keyScope('send', sandbox), key: ownKey }
  return name && { accountId, ...name, requestHash: hashOf(SendRequestSchema, request) }
}

function resultOf(index: number, { $typeName: _, ...response }: SendResponse): MessageResult {
  return { result: { index, ...response } }
}

function failureOf(index: number, error: unknown): MessageResult | OutcomeUnknown {
  if (error instanceof OutcomeUnknown) return error
  const shown = hideUnexpected(error)
  const { reason, message, retryAfterSeconds: retryAfter, fields: details } = contentsOfError(shown)
  return { result: { index, error: errorNames.value(reason), message, retryAfter, details }, error: shown }
}

function summaryOf(results: BatchResult[]) {
  const countOf = (status: DeliveryStatus | undefined) => results.filter((result) => result.status === status).length
  return create(BatchSummarySchema, {
    total: results.length,
    delivered: countOf(DeliveryStatus.DELIVERED),
    bounced: countOf(DeliveryStatus.BOUNCED),
    rejected: countOf(DeliveryStatus.REJECTED),
    failed: countOf(undefined),
  })
}

const notStarted = (why: string) =>
  fail('transient_failure', `This message was not started: ${why}. Nothing was sent; it is safe to retry.`)
