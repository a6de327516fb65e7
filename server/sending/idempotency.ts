import type { SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { CALL_TIMES } from '../config/limits.ts'
import { collector, jsonArray } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { reasonOf } from '../errors.ts'
import { inTime } from '../in-time.ts'
import type { IdempotencyKey } from './key.ts'
import { type Answered, createSharing, type First, pauses } from './sharing.ts'
import { storedAnswers } from './stored.ts'
import { sweepMessage } from './sweep.ts'

export interface Idempotency {
  /**
   * The answer of the first request with the key: it is stored, or it is waited for, or `run` makes it (undefined: somebody else
   * has just taken the key). Errors of `run` leave the key free. Throws `transient_failure` when the first has not ended in time.
   */
  once(key: IdempotencyKey, run: () => Promise<SendResponse | undefined>): Promise<Answered<SendResponse>>
  /** When no request with a key is running: they go on when their callers leave. */
  idle(): Promise<void>
}

interface Found {
  messageId: string
  requestHash: string
  /** Of a send that runs: what is left of its lease. null when it is in history. */
  leaseLeftMs: number | null
}

const LOOK_UP = `
  select q.n::int, k.message_id, encode(k.request_hash, 'hex') as request_hash,
    (extract(epoch from o.lease_until - clock_timestamp()) * 1000)::float8 as lease_left_ms
  from rows from (json_to_recordset($1::json) as (account_id uuid, scope text, key text))
    with ordinality as q(account_id, scope, key, n)
  join idempotency_keys k on k.account_id = q.account_id and k.scope = q.scope and k.key = q.key and k.expires_at > now()
  left join open_messages o on o.id = k.message_id`

const LOOK_UP_MS = 5_000

/** `leaseMs` is the lease of a send. Nobody holds a connection of the database while waiting. */
export function createIdempotency(db: Database, leaseMs: number): Idempotency {
  const find = keyLookup(db)
  const storedAnswer = storedAnswers(db)
  const { share, idle } = createSharing<SendResponse>()

  /** The first with this key in this process. Others may have it in other processes. */
  async function answerFirst(
    key: IdempotencyKey,
    run: () => Promise<SendResponse | undefined>,
    untilMs: number,
  ): Promise<First<SendResponse>> {
    for (const pause = pauses(untilMs); ; await pause()) {
      const found = await find(key)
      if (!found) {
        const response = await run().catch((error) => unlessTaken(key, error))
        if (response) return { response, replayed: false, requestHash: key.requestHash }
        continue
      }
      const { messageId, requestHash, leaseLeftMs } = found
      const response = leaseLeftMs === null ? await storedAnswer(messageId) : undefined
      if (response) return { response, replayed: true, requestHash }
      if (leaseLeftMs !== null && leaseLeftMs <= 0) await sweepMessage(db, messageId)
    }
  }

  /** A limit that is used up may have been used up by this key's own send. */
  async function unlessTaken(key: IdempotencyKey, error: unknown): Promise<undefined> {
    if (reasonOf(error) === 'rate_limit_exceeded' && (await find(key))) return undefined
    throw error
  }

  return {
    once(key, run) {
      const untilMs = performance.now() + leaseMs + CALL_TIMES.repeat
      return share(key, untilMs, () => answerFirst(key, run, untilMs))
    },
    idle,
  }
}

/** Who has a key. One statement serves all who ask at the same moment. */
function keyLookup(db: Database): (key: IdempotencyKey) => Promise<Found | undefined> {
  const find = collector<{ json: string }, Found | undefined>(async (keys) => {
    const rows = await db.$client.unsafe(LOOK_UP, [jsonArray(keys)], { prepare: true })
    const found = new Map(
      rows.map((row) => [
        row.n as number,
        { messageId: row.message_id, requestHash: row.request_hash, leaseLeftMs: row.lease_left_ms },
      ]),
    )
    return keys.map((_, i) => found.get(i + 1))
  })
  return ({ accountId, scope, key }) =>
    inTime(find({ json: JSON.stringify({ account_id: accountId, scope, key }) }), LOOK_UP_MS)
}
