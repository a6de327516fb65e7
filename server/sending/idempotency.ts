import type { SendResponse } from '../../gen/verdict/v1/emails_pb.ts'
import type { Database } from '../db/connect.ts'
import { inMs } from '../db/statement.ts'
import { reasonOf } from '../errors.ts'
import { sweepMessage } from '../ledger/sweep.ts'
import type { IdempotencyKey } from './idempotency-key.ts'
import { createKeyLookup } from './key-lookup.ts'
import { createSharing, type FirstResponse, pausesUntil, type SharedResponse } from './sharing.ts'
import { createReadResponse } from './stored-response.ts'

export interface Idempotency {
  /**
   * Returns the response of the first request with the key: a stored one, that of a running request, or that of `send`.
   * `send` returns undefined when another request has just taken the key; its errors leave the key free. Throws
   * `transient_failure` when the first request has not ended in time. `onWait` is called when it has to end first.
   */
  once(
    key: IdempotencyKey,
    send: () => Promise<SendResponse | undefined>,
    onWait?: () => void,
  ): Promise<SharedResponse<SendResponse>>
  /** Resolves when no request with a key is running: they go on when their callers leave. */
  idle(): Promise<void>
}

/** The send that has a key. */
interface KeyHolder {
  messageId: string
  requestHash: string
  /** What is left of the lease of a running send. null when the send is in history. */
  leaseLeftMs: number | null
}

export const FIND_KEYS = `
  select q.n::int, k.message_id as "messageId", encode(k.request_hash, 'hex') as "requestHash",
    ${inMs('o.lease_until - clock_timestamp()')} as "leaseLeftMs"
  from rows from (json_to_recordset($1::json) as (account_id uuid, scope text, key text))
    with ordinality as q(account_id, scope, key, n)
  join idempotency_keys k on k.account_id = q.account_id and k.scope = q.scope and k.key = q.key and k.expires_at > now()
  left join open_messages o on o.id = k.message_id`

/**
 * Idempotency of single sends and of the messages of a batch. `leaseMs` is the lease of a send. A request that waits
 * holds no connection of the database.
 */
export function createIdempotency(db: Database, leaseMs: number): Idempotency {
  const find = createKeyLookup<KeyHolder>(db, FIND_KEYS)
  const findHolder = ({ accountId, scope, key }: IdempotencyKey) => find({ account_id: accountId, scope, key })
  const storedResponse = createReadResponse(db)
  const { share, idle } = createSharing<SendResponse>(leaseMs)

  /** Serves the first request with this key in this process. Other processes may serve one with it too. */
  async function respondFirst(
    key: IdempotencyKey,
    send: () => Promise<SendResponse | undefined>,
    untilMs: number,
    onWait?: () => void,
  ): Promise<FirstResponse<SendResponse>> {
    for (const pause = pausesUntil(untilMs); ; await pause()) {
      const holder = await findHolder(key)
      if (!holder) {
        const response = await send().catch((error) => unlessTaken(key, error))
        if (response) return { response, replayed: false, requestHash: key.requestHash }
        continue
      }
      const { messageId, requestHash, leaseLeftMs } = holder
      const response = leaseLeftMs === null ? await storedResponse(messageId) : undefined
      if (response) return { response, replayed: true, requestHash }
      if (leaseLeftMs !== null && leaseLeftMs <= 0) await sweepMessage(db, messageId)
      onWait?.()
    }
  }

  /** A limit that is used up may have been used up by this key's own send, and a recipient may be retried by it. */
  async function unlessTaken(key: IdempotencyKey, error: unknown): Promise<undefined> {
    const reason = reasonOf(error)
    if ((reason === 'rate_limit_exceeded' || reason === 'invalid_payload') && (await findHolder(key))) return undefined
    throw error
  }

  return {
    once: (key, send, onWait) => share(key, (untilMs) => respondFirst(key, send, untilMs, onWait), onWait),
    idle,
  }
}
