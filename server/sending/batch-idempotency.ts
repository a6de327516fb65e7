import { randomUUID } from 'node:crypto'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { type SendBatchResponse, SendBatchResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { CALL_TIMES, REQUEST_LIMITS } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { stepInTime } from '../db/outage.ts'
import { run } from '../db/statement.ts'
import { type BatchRun, derivedKey } from './batch.ts'
import type { IdempotencyKey } from './idempotency-key.ts'
import { createSharing, type FirstResponse, pausesUntil, type SharedResponse } from './sharing.ts'

export interface BatchKey extends IdempotencyKey {
  sandbox: boolean
  /** The fault of the request. It is thrown instead of a claim of the key, and a stored response goes before it. */
  refusal?: Error
}

/** Idempotency of a whole batch; its messages have their own keys. The API's `SendBatch` is its only user. */
export interface BatchIdempotency {
  /**
   * Returns the response of the first batch with the key: a stored one, that of a running batch, or that of `send`. A
   * response in which a message may still be sent is not stored: the next batch with the key runs again, and finds the
   * stored responses of the messages that are done. Throws `transient_failure` when the first batch has not ended in
   * time, and what `send` throws.
   */
  once(key: BatchKey, send: () => Promise<BatchRun>): Promise<SharedResponse<SendBatchResponse>>
  /** Resolves when no batch with a key is running: they go on when their callers leave. */
  idle(): Promise<void>
}

export const FIND_BATCH = `
  select encode(request_hash, 'hex') as "requestHash", answer, lease_until > clock_timestamp() as "isRunning"
  from batch_keys where account_id = $1 and scope = $2 and key = $3 and expires_at > now()`

// A batch that died, or has a message left to send, keeps the hash and the 24 hours of its first request. When a key
// expired and is claimed anew, the keys of its old messages are deleted: they may expire later than the key did.
export const CLAIM_BATCH = `
  with batch as (
    insert into batch_keys as kept (account_id, scope, key, request_hash, claim, lease_until, expires_at)
    values ($1, $2, $3, decode($4, 'hex'), $5, clock_timestamp() + $6 * interval '1 millisecond', now() + interval '24 hours')
    on conflict (account_id, scope, key) do update set
      claim = excluded.claim, lease_until = excluded.lease_until, answer = null,
      request_hash = case when kept.expires_at <= now() then excluded.request_hash else kept.request_hash end,
      expires_at = case when kept.expires_at <= now() then excluded.expires_at else kept.expires_at end
    where kept.expires_at <= now() or (kept.answer is null and kept.lease_until <= clock_timestamp())
    returning request_hash, expires_at = (now() + interval '24 hours')::timestamptz(3) as is_new
  ),
  deleted_key as (
    delete from idempotency_keys k using batch
    where is_new and k.account_id = $1 and (k.scope, k.key) in (
      select scope, key from json_to_recordset($7::json) as r(scope text, key text))
  )
  select encode(request_hash, 'hex') as "requestHash" from batch`

export const STORE_BATCH_RESPONSE = `
  update batch_keys set answer = $5
  where account_id = $1 and scope = $2 and key = $3 and claim = $4`

export const RELEASE_BATCH = `
  update batch_keys set lease_until = clock_timestamp() - interval '1 second'
  where account_id = $1 and scope = $2 and key = $3 and claim = $4`

interface BatchRow {
  requestHash: string
  /** The SendBatchResponse in binary form. Null while the batch is running or may run again. */
  answer: Uint8Array | null
  isRunning: boolean
}

/** `sendLeaseMs` is the lease of a send. A batch that waits holds no connection of the database. */
export function createBatchIdempotency(db: Database, sendLeaseMs: number): BatchIdempotency {
  const leaseMs = CALL_TIMES.batchStartMs + sendLeaseMs
  const { share, idle } = createSharing<SendBatchResponse>(leaseMs)

  /** Serves the first batch with this key in this process. Other processes may serve one with it too. */
  async function respondFirst(
    key: BatchKey,
    send: () => Promise<BatchRun>,
    untilMs: number,
  ): Promise<FirstResponse<SendBatchResponse>> {
    for (const pause = pausesUntil(untilMs); ; await pause()) {
      const [batch] = await runInTime<BatchRow>(db, FIND_BATCH, keyColumns(key))
      if (batch?.answer) {
        const response = fromBinary(SendBatchResponseSchema, batch.answer)
        return { response, replayed: true, requestHash: batch.requestHash }
      }
      if (batch?.isRunning) continue
      if (key.refusal) throw key.refusal
      const first = await claimAndSend(db, key, leaseMs, send)
      if (first) return first
    }
  }

  return {
    once: (key, send) => share(key, (untilMs) => respondFirst(key, send, untilMs)),
    idle,
  }
}

function runInTime<Row extends object>(db: Database, statement: string, parameters: (string | number | Uint8Array)[]) {
  return stepInTime(db, run<Row>(db, statement, parameters))
}

/** Claims the key, runs `send` and stores its response. Returns undefined when another process claims the key first. */
async function claimAndSend(
  db: Database,
  key: BatchKey,
  leaseMs: number,
  send: () => Promise<BatchRun>,
): Promise<FirstResponse<SendBatchResponse> | undefined> {
  const claimId = randomUUID()
  // If this statement fails, the lease expires on its own.
  const release = () => runInTime(db, RELEASE_BATCH, [...keyColumns(key), claimId]).catch(() => {})
  const releaseAndThrow = async (error: unknown) => {
    await release()
    throw error
  }
  const row = [...keyColumns(key), key.requestHash, claimId, leaseMs, keysOfItems(key)]
  const [batch] = await runInTime<Pick<BatchRow, 'requestHash'>>(db, CLAIM_BATCH, row).catch(releaseAndThrow)
  if (!batch) return undefined
  const { response, isFinal } = await send().catch(releaseAndThrow)
  // If either statement fails, this response is still correct: each message's own response is stored.
  if (!isFinal) await release()
  else {
    const answer = toBinary(SendBatchResponseSchema, response)
    await runInTime(db, STORE_BATCH_RESPONSE, [...keyColumns(key), claimId, answer]).catch(release)
  }
  return { response, replayed: false, requestHash: batch.requestHash }
}

const keyColumns = ({ accountId, scope, key }: BatchKey) => [accountId, scope, key]

/** The keys of all messages that a batch with this key may have had, as JSON. */
const keysOfItems = ({ key, sandbox }: BatchKey) =>
  JSON.stringify(Array.from({ length: REQUEST_LIMITS.batchEmails }, (_, index) => derivedKey(key, index, sandbox)))
