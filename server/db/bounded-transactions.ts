import type { Sql } from 'postgres'
import { FairSlots } from '../../net/fair-slots.ts'
import { callerNow, onBehalfOf } from '../async/on-behalf.ts'
import { fail } from '../errors.ts'

/** The connections of a pool that transactions of calls leave to single statements and to the service. */
const LEFT = 2
const WAIT_MS = 10_000

/**
 * Bounds the transactions that calls have in a pool. One that waits for a lock holds a connection meanwhile, and those
 * of one account often wait for the same lock. So those of one caller hold at most half of the connections that are
 * free for transactions, the others wait without a connection, and callers take turns. What a transaction begins waits
 * for no other.
 */
export function boundTransactions(client: Sql, connections: number): void {
  const slots = new FairSlots({ slots: Math.max(1, connections - LEFT), perAccount: (free) => Math.ceil(free / 2) })
  const begin = client.begin as (...parts: unknown[]) => Promise<unknown>
  const bounded: typeof begin = async (...parts) => {
    const accountId = callerNow()
    if (accountId === undefined) return begin(...parts)
    const release = await slots.acquire({ accountId, untilMs: performance.now() + WAIT_MS })
    if (!release) throw busy()
    try {
      return await onBehalfOf(undefined, () => begin(...parts))
    } finally {
      release()
    }
  }
  client.begin = bounded as typeof client.begin
}

const busy = () =>
  fail('rate_limit_exceeded', 'Other changes of this account have not ended. Repeat this call in a second.', {
    retryAfterSeconds: 1,
  })
