import { randomUUID } from 'node:crypto'
import { runEvery } from '../async/run-every.ts'
import type { Database } from '../db/connect.ts'
import { lockAccount } from '../db/lock-account.ts'
import { one, run } from '../db/statement.ts'
import { fail } from '../errors.ts'

/** The most streams of an account, over all processes. */
export const MAX_STREAMS = 100

const LEASE_S = 30
const RENEW_EVERY_MS = 10_000
const RETRY_SECONDS = 5

const OTHERS = `
  select coalesce(sum(streams), 0)::int as streams from stream_leases
  where account_id = $1 and process <> $2 and until > now()`

const STORE = `
  insert into stream_leases (account_id, process, streams, until)
  values ($1, $2, $3, now() + interval '${LEASE_S} seconds')
  on conflict (account_id, process) do update set streams = excluded.streams, until = excluded.until`

const RENEW = `update stream_leases set until = now() + interval '${LEASE_S} seconds' where process = $1`

const FREE = 'delete from stream_leases where process = $1'

export interface StreamLeases {
  /** Takes a place for a stream, and returns the function that frees it. Throws `rate_limit_exceeded`. */
  take(accountId: string): Promise<() => void>
  /** Frees all places of this process. */
  stop(): Promise<void>
}

/** Counts the streams of each account over all processes. The places of a process that was killed are free in 30 s. */
export function createStreamLeases(db: Database, report: (error: unknown) => void): StreamLeases {
  const processId = randomUUID()
  const open = new Map<string, number>()
  /** Accounts whose row may differ from what is open here. */
  const stale = new Set<string>()
  let isStopped = false

  /** Stores how many streams are open. The lock of the account puts changes in order. */
  async function store(accountId: string): Promise<void> {
    stale.add(accountId)
    await db.transaction(async (tx) => {
      await lockAccount(tx, accountId)
      stale.delete(accountId)
      await run(tx, STORE, [accountId, processId, open.get(accountId) ?? 0])
    })
  }

  function close(accountId: string): void {
    const left = open.get(accountId)! - 1
    if (left === 0) open.delete(accountId)
    else open.set(accountId, left)
    if (isStopped || stale.has(accountId)) return
    store(accountId).catch((error) => {
      stale.add(accountId)
      if (!isStopped) report(error)
    })
  }

  const renewal = runEvery(
    RENEW_EVERY_MS,
    async () => {
      if (open.size > 0) await run(db, RENEW, [processId])
      for (const accountId of [...stale]) await store(accountId)
    },
    report,
  )

  return {
    async take(accountId) {
      // An account that opens streams over its limit costs the database nothing.
      if ((open.get(accountId) ?? 0) >= MAX_STREAMS) throw tooMany()
      let isTaken = false
      try {
        await db.transaction(async (tx) => {
          await lockAccount(tx, accountId)
          const others = one(await run<{ streams: number }>(tx, OTHERS, [accountId, processId]))
          const own = (open.get(accountId) ?? 0) + 1
          if (others.streams + own > MAX_STREAMS) throw tooMany()
          open.set(accountId, own)
          isTaken = true
          stale.add(accountId)
          await run(tx, STORE, [accountId, processId, own])
          stale.delete(accountId)
        })
      } catch (error) {
        // The commit may have failed: the place that was counted here is free again.
        if (isTaken) close(accountId)
        throw error
      }
      return () => close(accountId)
    },
    async stop() {
      isStopped = true
      renewal.stop()
      await run(db, FREE, [processId]).catch(() => {})
    },
  }
}

const tooMany = () =>
  fail('rate_limit_exceeded', `This account has ${MAX_STREAMS} open streams of events. Close one, and try again.`, {
    retryAfterSeconds: RETRY_SECONDS,
  })
