import type { PendingQuery, Sql } from 'postgres'
import { asManyAsLeft, FairSlots, type Release } from '../../net/fair-slots.ts'
import { behalfNow, forAll } from '../async/on-behalf.ts'
import { fail } from '../errors.ts'
import type { createWarmConnections } from './warm.ts'

// Whose work gets a connection. Each statement outside of a transaction, and each transaction, takes one here, whatever
// wrote it. One that waits for a lock, or reads much, keeps its connection meanwhile, and PostgreSQL's queue knows no
// accounts. So it waits here, without a connection.

/** The parts of the connections that work of callers may hold. The service itself may hold all. */
const PARTS = {
  /** The statements and transactions of heavy calls (access/heavy-calls.ts). */
  heavy: 0.4,
  /** All other transactions of calls. */
  changes: 0.4,
  /** Both, and all other statements of calls. These are quick: what the parts above leave serves all accounts. */
  calls: 0.9,
}
/** Longer than any statement may take. */
const WAIT_MS = 20_000

interface SharedPool {
  /** With as many connections as `poolSize`. */
  pool: Sql
  poolSize: number
  warm: ReturnType<typeof createWarmConnections>
  /** All connections: those of the pool and the warm ones. */
  connections: number
  heavyShare?: number
}

/**
 * The pool and the warm connections as one client. Of each part of the connections, an account holds at most as many as
 * it leaves free, and accounts take turns. No statement waits in the driver, behind one that takes long.
 *
 * A transaction is work of the service from its beginning on: what it begins waits for no other.
 */
export function shareConnections({ pool, poolSize, warm, connections, heavyShare = PARTS.heavy }: SharedPool): Sql {
  const part = (share: number) =>
    new FairSlots({ slots: Math.max(1, Math.floor(connections * share)), perAccount: asManyAsLeft })
  const [heavy, changes, calls] = [part(heavyShare), part(PARTS.changes), part(PARTS.calls)]
  const all = new FairSlots({ slots: connections })
  let inPool = 0

  /** Waits for a place in each part that the work belongs to. */
  async function takePlaces(isChange: boolean): Promise<Release[]> {
    const behalf = behalfNow()
    if (!behalf) return [(await all.acquire())!]
    const places: Release[] = []
    const long = behalf.isHeavy ? [heavy] : isChange ? [changes] : []
    const request = { accountId: behalf.caller, untilMs: performance.now() + WAIT_MS }
    for (const slots of [...long, calls, all]) {
      const place = await slots.acquire(request)
      if (place) places.push(place)
      else {
        for (const release of places) release()
        throw slots.isHeldBy(behalf.caller) ? busy() : new Error(`no connection was free within ${WAIT_MS} ms`)
      }
    }
    return places
  }

  /** Work that may take long leaves the warm connections to statements. */
  async function withConnection<Result>(isChange: boolean, work: (client: Sql) => Promise<Result>): Promise<Result> {
    const places = await takePlaces(isChange)
    const isLong = isChange || behalfNow()?.isHeavy
    const one = isLong && inPool < poolSize ? undefined : warm.take()
    if (!one) inPool++
    try {
      return await work(one?.client ?? pool)
    } finally {
      if (one) one.release()
      else inPool--
      for (const release of places) release()
    }
  }

  function unsafe(...statement: Parameters<Sql['unsafe']>) {
    let inArrays = false
    const result = withConnection<unknown>(false, (client) => {
      const query = client.unsafe(...statement)
      return inArrays ? query.values() : query
    })
    /** Asked for before the statement begins, as the driver wants it. */
    function values() {
      inArrays = true
      return result
    }
    return Object.assign(result, { values }) as PendingQuery<never>
  }

  const begin = (...parts: Parameters<Sql['begin']>) =>
    withConnection(true, (client) => forAll(() => client.begin(...parts)))
  // Tests and tools use the rest of the driver's client.
  const client = (...parts: unknown[]) => (pool as unknown as (...parts: unknown[]) => unknown)(...parts)
  const end: Sql['end'] = async (options) => {
    await Promise.all([pool.end(options), warm.end(options)])
  }
  return Object.assign(client, pool, { unsafe, begin, end }) as unknown as Sql
}

const busy = () =>
  fail('rate_limit_exceeded', 'Other calls of this account have not ended. Repeat this call in a second.', {
    retryAfterSeconds: 1,
  })
