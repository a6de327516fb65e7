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

/** Counts the streams of each account over all processes. The places of a process that was killed are free in 30 s. */
export class StreamLeases {
  readonly #db: Database
  readonly #report: (error: unknown) => void
  readonly #processId = randomUUID()
  readonly #open = new Map<string, number>()
  /** Accounts whose row may differ from what is open here. */
  readonly #stale = new Set<string>()
  readonly #renewal: ReturnType<typeof runEvery>
  #isStopped = false

  constructor(db: Database, report: (error: unknown) => void) {
    this.#db = db
    this.#report = report
    this.#renewal = runEvery(RENEW_EVERY_MS, () => this.#renew(), report)
  }

  /** Takes a place for a stream, and returns the function that frees it. Throws `rate_limit_exceeded`. */
  async take(accountId: string): Promise<() => void> {
    // An account that opens streams over its limit costs the database nothing.
    if (this.#openOf(accountId) >= MAX_STREAMS) throw tooMany()
    let isTaken = false
    try {
      await this.#db.transaction(async (tx) => {
        await lockAccount(tx, accountId)
        const others = one(await run<{ streams: number }>(tx, OTHERS, [accountId, this.#processId]))
        const own = this.#openOf(accountId) + 1
        if (others.streams + own > MAX_STREAMS) throw tooMany()
        this.#open.set(accountId, own)
        isTaken = true
        this.#stale.add(accountId)
        await run(tx, STORE, [accountId, this.#processId, own])
        this.#stale.delete(accountId)
      })
    } catch (error) {
      // The commit may have failed: the place that was counted here is free again.
      if (isTaken) this.#close(accountId)
      throw error
    }
    return () => this.#close(accountId)
  }

  /** Frees all places of this process. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#renewal.stop()
    await run(this.#db, FREE, [this.#processId]).catch(() => {})
  }

  #openOf(accountId: string): number {
    return this.#open.get(accountId) ?? 0
  }

  #close(accountId: string): void {
    const left = this.#openOf(accountId) - 1
    if (left === 0) this.#open.delete(accountId)
    else this.#open.set(accountId, left)
    if (this.#isStopped || this.#stale.has(accountId)) return
    this.#store(accountId).catch((error) => {
      this.#stale.add(accountId)
      if (!this.#isStopped) this.#report(error)
    })
  }

  /** Stores how many streams are open. The lock of the account puts changes in order. */
  async #store(accountId: string): Promise<void> {
    this.#stale.add(accountId)
    await this.#db.transaction(async (tx) => {
      await lockAccount(tx, accountId)
      this.#stale.delete(accountId)
      await run(tx, STORE, [accountId, this.#processId, this.#openOf(accountId)])
    })
  }

  async #renew(): Promise<void> {
    if (this.#open.size > 0) await run(this.#db, RENEW, [this.#processId])
    for (const accountId of [...this.#stale]) await this.#store(accountId)
  }
}

const tooMany = () =>
  fail('rate_limit_exceeded', `This account has ${MAX_STREAMS} open streams of events. Close one, and try again.`, {
    retryAfterSeconds: RETRY_SECONDS,
  })
