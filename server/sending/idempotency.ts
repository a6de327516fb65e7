import { setTimeout as sleep } from 'node:timers/promises'
import type { SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import { collector, jsonArray } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { inTime } from '../db/in-time.ts'
import { fail, reasonOf } from '../errors.ts'
import type { KeyToTake } from './claim.ts'
import { storedAnswers } from './stored.ts'
import { sweepMessage } from './sweep.ts'

/** Whose key it is. The same key of another account, method or mode is another key. */
export interface IdempotencyKey extends KeyToTake {
  accountId: string
}

export interface Answered {
  response: SendResponse
  /** An earlier request had this key: nothing was done. */
  replayed: boolean
  /** The earlier request was another one. */
  mismatch: boolean
}

export interface Idempotency {
  /**
   * The answer of the first request with the key: it is stored, or it is waited for, or `run` makes it (undefined: somebody else
   * has just taken the key). Errors of `run` leave the key free. Throws `transient_failure` when the first has not ended in time.
   */
  once(key: IdempotencyKey, run: () => Promise<SendResponse | undefined>): Promise<Answered>
  /** When no request with a key is running: they go on when their callers leave. */
  idle(): Promise<void>
}

interface Found {
  messageId: string
  requestHash: string
  /** Of a send that runs: what is left of its lease. null when it is in history. */
  leaseLeftMs: number | null
}

interface First {
  response: SendResponse
  replayed: boolean
  requestHash: string
}

const LOOK_UP = `
  select q.n::int, k.message_id, encode(k.request_hash, 'hex') as request_hash,
    (extract(epoch from o.lease_until - clock_timestamp()) * 1000)::float8 as lease_left_ms
  from rows from (json_to_recordset($1::json) as (account_id uuid, scope text, key text))
    with ordinality as q(account_id, scope, key, n)
  join idempotency_keys k on k.account_id = q.account_id and k.scope = q.scope and k.key = q.key and k.expires_at > now()
  left join open_messages o on o.id = k.message_id`

const LOOK_UP_MS = 5_000
/** How often another process's send is asked for. */
const POLL_MS = { first: 20, most: 250 }
/** Waiting is over this long after the lease. */
const PATIENCE_MS = 10_000

/** `leaseMs` is the lease of a send. Nobody holds a connection of the database while waiting. */
export function createIdempotency(db: Database, leaseMs: number): Idempotency {
  const find = keyLookup(db)
  const storedAnswer = storedAnswers(db)
  const running = new Map<string, { requestHash: string; first: Promise<First> }>()

  async function once(key: IdempotencyKey, run: () => Promise<SendResponse | undefined>): Promise<Answered> {
    const name = JSON.stringify([key.accountId, key.scope, key.key])
    const untilMs = performance.now() + leaseMs + PATIENCE_MS
    for (;;) {
      const other = running.get(name)
      if (!other) break
      try {
        const { response, requestHash } = await before(untilMs, other.first)
        return { response, replayed: true, mismatch: requestHash !== key.requestHash }
      } catch (error) {
        // What was wrong with another request says nothing of this one.
        if (other.requestHash === key.requestHash || performance.now() >= untilMs) throw error
      }
    }
    const first = answerFirst(key, run, untilMs).finally(() => running.delete(name))
    running.set(name, { requestHash: key.requestHash, first })
    const { response, replayed, requestHash } = await first
    return { response, replayed, mismatch: requestHash !== key.requestHash }
  }

  /** The first with this key in this process. Others may have it in other processes. */
  async function answerFirst(
    key: IdempotencyKey,
    run: () => Promise<SendResponse | undefined>,
    untilMs: number,
  ): Promise<First> {
    for (let waitMs = POLL_MS.first; ; waitMs = Math.min(waitMs * 2, POLL_MS.most)) {
      const found = await find(key)
      if (!found) {
        const response = await run().catch((error) => unlessTaken(key, error))
        if (response) return { response, replayed: false, requestHash: key.requestHash }
        continue
      }
      const { messageId, requestHash, leaseLeftMs } = found
      const response = leaseLeftMs === null ? await storedAnswer(messageId) : undefined
      if (response) return { response, replayed: true, requestHash }
      if (performance.now() >= untilMs) throw tooLong()
      if (leaseLeftMs !== null && leaseLeftMs <= 0) await sweepMessage(db, messageId)
      else await sleep(waitMs)
    }
  }

  /** A limit that is used up may have been used up by this key's own send. */
  async function unlessTaken(key: IdempotencyKey, error: unknown): Promise<undefined> {
    if (reasonOf(error) === 'rate_limit_exceeded' && (await find(key))) return undefined
    throw error
  }

  return {
    once,
    async idle() {
      await Promise.allSettled([...running.values()].map(({ first }) => first))
    },
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

async function before<T>(untilMs: number, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(tooLong()), Math.max(0, untilMs - performance.now()))
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

const tooLong = () =>
  fail(
    'transient_failure',
    'Another request with this Idempotency-Key has not ended yet. It is safe to repeat this one.',
  )
