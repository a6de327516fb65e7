import { randomUUID } from 'node:crypto'
import { runEvery } from '../async/run-every.ts'
import type { Database, Transaction } from '../db/connect.ts'
import { lockAccount } from '../db/lock-account.ts'
import { one, run } from '../db/statement.ts'
import { fail } from '../errors.ts'

/** The most streams of an account, over all processes. */
export const MAX_STREAMS = 100

const LEASE_S = 30
const RENEW_EVERY_MS = 10_000
/** How long a place that a stream has left is kept for the account's next one. */
const KEEP_MS = 1_000
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

/** The places of an account in this process. */
interface Places {
  open: number
  /** The streams that its row counts; undefined when a commit has failed. */
  stored: number | undefined
  /** Streams that wait for the row. */
  opening: PromiseWithResolvers<void>[]
  isStoring: boolean
  freeing?: NodeJS.Timeout
}

/**
 * Counts the streams of each account over all processes. The places of a process that was killed are free in 30 s.
 *
 * An account waits for its lock with at most one connection: the streams that are opened meanwhile share the next
 * transaction. A place that is left is taken again without one.
 */
export class StreamLeases {
  readonly #db: Database
  readonly #report: (error: unknown) => void
  readonly #processId = randomUUID()
  readonly #places = new Map<string, Places>()
  readonly #renewal: ReturnType<typeof runEvery>
  #isStopped = false

  constructor(db: Database, report: (error: unknown) => void) {
    this.#db = db
    this.#report = report
    this.#renewal = runEvery(RENEW_EVERY_MS, () => this.#renew(), report)
  }

  /** Takes a place for a stream, and returns the function that frees it. Throws `rate_limit_exceeded`. */
  async take(accountId: string): Promise<() => void> {
    const places = this.#places.get(accountId) ?? { open: 0, stored: 0, opening: [], isStoring: false }
    // An account that opens streams over its limit costs the database nothing.
    if (places.open + places.opening.length >= MAX_STREAMS) throw tooMany()
    this.#places.set(accountId, places)
    if (!places.isStoring && places.open < (places.stored ?? 0)) places.open++
    else {
      const opening = Promise.withResolvers<void>()
      places.opening.push(opening)
      void this.#store(accountId, places)
      await opening.promise
    }
    return () => {
      places.open--
      this.#freeLater(accountId, places)
    }
  }

  /** Frees all places of this process. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#renewal.stop()
    await run(this.#db, FREE, [this.#processId]).catch(() => {})
  }

  /** Stores the count of open and opening streams, in one transaction of an account at a time. */
  async #store(accountId: string, places: Places): Promise<void> {
    if (places.isStoring) return
    places.isStoring = true
    do await this.#storeOnce(accountId, places)
    while (places.opening.length > 0)
    places.isStoring = false
    this.#freeLater(accountId, places)
  }

  async #storeOnce(accountId: string, places: Places): Promise<void> {
    const { length } = places.opening
    try {
      const { admitted, stored } = await this.#db.transaction((tx) => this.#count(tx, accountId, places, length))
      places.stored = stored
      places.open += admitted
      const opened = places.opening.splice(0, length)
      for (const { resolve } of opened.splice(0, admitted)) resolve()
      for (const { reject } of opened) reject(tooMany())
    } catch (error) {
      places.stored = undefined
      for (const { reject } of places.opening.splice(0, length)) reject(error)
      if (length === 0 && !this.#isStopped) this.#report(error)
    }
  }

  async #count(tx: Transaction, accountId: string, places: Places, opening: number) {
    await lockAccount(tx, accountId)
    const others = one(await run<{ streams: number }>(tx, OTHERS, [accountId, this.#processId]))
    const { open } = places
    const admitted = Math.max(0, Math.min(opening, MAX_STREAMS - others.streams - open))
    // A transaction that opens streams keeps the places that were left. The timer frees them.
    const stored = Math.max(open + admitted, opening > 0 ? (places.stored ?? 0) : 0)
    await run(tx, STORE, [accountId, this.#processId, stored])
    return { admitted, stored }
  }

  /**
   * Stores the count again KEEP_MS after a stream has ended, or RENEW_EVERY_MS after a failure. Forgets an account
   * without streams.
   */
  #freeLater(accountId: string, places: Places): void {
    const { open, stored, isStoring } = places
    if (isStoring || this.#isStopped) return
    if (stored !== open) {
      places.freeing ??= setTimeout(
        () => {
          places.freeing = undefined
          if (!this.#isStopped && places.stored !== places.open) void this.#store(accountId, places)
        },
        stored === undefined ? RENEW_EVERY_MS : KEEP_MS,
      ).unref()
    } else if (open === 0) {
      clearTimeout(places.freeing)
      this.#places.delete(accountId)
    }
  }

  async #renew(): Promise<void> {
    if (this.#places.size > 0) await run(this.#db, RENEW, [this.#processId])
  }
}

const tooMany = () =>
  fail('rate_limit_exceeded', `This account has ${MAX_STREAMS} open streams of events. Close one, and try again.`, {
    retryAfterSeconds: RETRY_SECONDS,
  })
