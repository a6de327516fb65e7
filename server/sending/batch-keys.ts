import { randomUUID } from 'node:crypto'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { type SendBatchResponse, SendBatchResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { CALL_TIMES, REQUEST_LIMITS } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { inTime } from '../in-time.ts'
import { type BatchRun, derivedKey } from './batch.ts'
import type { IdempotencyKey } from './key.ts'
import { type Answered, createSharing, type First, pauses } from './sharing.ts'

export interface BatchKey extends IdempotencyKey {
  sandbox: boolean
}

export interface BatchKeys {
  /**
   * The answer of the first batch with the key: it is stored, or it is waited for, or `run` makes it. One in which a message may
   * still be sent is not kept: the next batch with the key runs, and its messages find what they had. Throws `transient_failure`
   * when the first has not ended in time, and what `run` throws.
   */
  once(key: BatchKey, run: () => Promise<BatchRun>): Promise<Answered<SendBatchResponse>>
  /** When no batch with a key is running: they go on when their callers leave. */
  idle(): Promise<void>
}

const FIND = `
  select encode(request_hash, 'hex') as request_hash, answer, lease_until > clock_timestamp() as running
  from batch_keys where account_id = $1 and scope = $2 and key = $3 and expires_at > now()`

// A batch that died or has something left to send is taken over with the hash and the 24 hours of its first request. In a new life
// of the key nothing is left of the one before: the keys of its messages may be younger than it was.
const TAKE = `
  with taken as (
    insert into batch_keys as kept (account_id, scope, key, request_hash, claim, lease_until, expires_at)
    values ($1, $2, $3, decode($4, 'hex'), $5, clock_timestamp() + $6 * interval '1 millisecond', now() + interval '24 hours')
    on conflict (account_id, scope, key) do update set
      claim = excluded.claim, lease_until = excluded.lease_until, answer = null,
      request_hash = case when kept.expires_at <= now() then excluded.request_hash else kept.request_hash end,
      expires_at = case when kept.expires_at <= now() then excluded.expires_at else kept.expires_at end
    where kept.expires_at <= now() or (kept.answer is null and kept.lease_until <= clock_timestamp())
    returning request_hash, expires_at = (now() + interval '24 hours')::timestamptz(3) as is_new
  ),
  forgotten as (
    delete from idempotency_keys k using taken
    where is_new and k.account_id = $1 and (k.scope, k.key) in (
      select scope, key from json_to_recordset($7::json) as r(scope text, key text))
  )
  select encode(request_hash, 'hex') as request_hash from taken`

const KEEP = `
  update batch_keys set answer = $5
  where account_id = $1 and scope = $2 and key = $3 and claim = $4`

const LET_GO = `
  update batch_keys set lease_until = clock_timestamp() - interval '1 second'
  where account_id = $1 and scope = $2 and key = $3 and claim = $4`

const STATEMENT_MS = 5_000

/** `sendLeaseMs` is the lease of a send. Nobody holds a connection of the database while waiting. */
export function createBatchKeys(db: Database, sendLeaseMs: number): BatchKeys {
  const leaseMs = CALL_TIMES.batchStart + sendLeaseMs
  const { share, idle } = createSharing<SendBatchResponse>()
  const ask = (statement: string, parameters: (string | number | Uint8Array)[]) =>
    inTime(db.$client.unsafe(statement, parameters, { prepare: true }), STATEMENT_MS)

  /** The first with this key in this process. Others may have it in other processes. */
  async function answerFirst(
    key: BatchKey,
    run: () => Promise<BatchRun>,
    untilMs: number,
  ): Promise<First<SendBatchResponse>> {
    const name = [key.accountId, key.scope, key.key]
    for (const pause = pauses(untilMs); ; await pause()) {
      const [found] = await ask(FIND, name)
      if (found?.answer) {
        const response = fromBinary(SendBatchResponseSchema, found.answer)
        return { response, replayed: true, requestHash: found.request_hash }
      }
      if (found?.running) continue
      const claim = randomUUID()
      // When it is lost, the lease ends by itself.
      const letGo = () => ask(LET_GO, [...name, claim]).catch(() => {})
      const lettingGo = async (error: unknown) => {
        await letGo()
        throw error
      }
      const taking = ask(TAKE, [...name, key.requestHash, claim, leaseMs, keysOfItems(key)])
      const [taken] = await taking.catch(lettingGo)
      if (!taken) continue
      const { response, isFinal } = await run().catch(lettingGo)
      // When either is lost, the messages keep their answers: what is answered here stays true.
      if (!isFinal) await letGo()
      else await ask(KEEP, [...name, claim, toBinary(SendBatchResponseSchema, response)]).catch(letGo)
      return { response, replayed: false, requestHash: taken.request_hash }
    }
  }

  return {
    once(key, run) {
      const untilMs = performance.now() + leaseMs + CALL_TIMES.repeat
      return share(key, untilMs, () => answerFirst(key, run, untilMs))
    },
    idle,
  }
}

const keysOfItems = ({ key, sandbox }: BatchKey) =>
  JSON.stringify(Array.from({ length: REQUEST_LIMITS.batchEmails }, (_, index) => derivedKey(key, index, sandbox)))
