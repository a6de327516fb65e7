import { setTimeout as sleep } from 'node:timers/promises'
import type { DatabaseClock } from '../db/clock.ts'
import { timeOfId } from '../db/ids.ts'
import type { Cursor } from './position.ts'
import { type EventReads, type Horizon, PAGE, type ReadEvent } from './read-events.ts'

/** Events of an account in the order of the stream, read at one time. */
export interface Batch<Shown> {
  events: { row: ReadEvent; shown: Shown }[]
  /** The place of the last one. */
  cursor: Cursor
}

/** A stream that has read everything up to a moment ago. */
export interface Follower<Shown> {
  /** Takes the next events of the account. The first of them may be events that the stream has already. */
  take(batch: Batch<Shown>): void
  /** Called once when the reader stops: its database failed, or another server took its place. */
  end(cause: unknown): void
}

export interface EventTailParts<Shown> {
  reads: Pick<EventReads, 'horizon' | 'readNew'>
  clock: DatabaseClock
  /** Adds to events what streams show of them. All streams of an account share it. */
  show(accountId: string, rows: ReadEvent[]): Promise<Batch<Shown>['events']>
  /** Called with a failure that has ended streams. */
  report(error: unknown): void
}

/** How often the database is asked for new events while there are streams. */
const EVERY_MS = 100
/** Reads take at most this share of the time: with thousands of accounts they become rarer. */
const MOST_SHARE = 0.5
/** With half of the marks the time is less exact, and never too late. */
const MOST_MARKS = 1_000

interface Group<Shown> {
  accountId: string
  cursor: Cursor
  /** Further events carry this time or a later one: see `passedMs`. */
  sinceMs: number
  /** Whether the account may have events below the last horizon that were not read. */
  hasMore: boolean
  followers: Set<Follower<Shown>>
}

export const isAfter = (a: Cursor, b: Cursor): boolean => a.order > b.order || (a.order === b.order && a.id > b.id)

export const cursorOfRow = ({ streamOrder, id }: ReadEvent): Cursor => ({ order: streamOrder, id })

/** The error for a stream whose server is not the primary any more. */
export class PrimaryChanged extends Error {}

/**
 * Reads new events for all streams of a process. One statement reads for all accounts, and only when a transaction has
 * ended since the last one. Its cursors name events that are committed, so a crash or a promotion of the database
 * cannot give their order to another event.
 */
export class Tail<Shown> {
  readonly #parts: EventTailParts<Shown>
  readonly #groups = new Map<string, Group<Shown>>()
  #isRunning = false
  #seen: Horizon | undefined
  /** What the next transaction id was, and when. The first one is that before the horizon. */
  #marks: { order: number; atMs: number }[] = []
  readonly #stopped = new AbortController()

  constructor(parts: EventTailParts<Shown>) {
    this.#parts = parts
  }

  /**
   * Follows an account from a cursor on. Returns the function that ends it; undefined when the reader is further
   * already, and the stream has to read on by itself first.
   */
  follow(accountId: string, cursor: Cursor, follower: Follower<Shown>): (() => void) | undefined {
    const groups = this.#groups
    const known = groups.get(accountId)
    if (known && isAfter(known.cursor, cursor)) return undefined
    const group = known ?? this.#begin(accountId, cursor)
    group.followers.add(follower)
    return () => {
      group.followers.delete(follower)
      if (group.followers.size === 0 && groups.get(accountId) === group) groups.delete(accountId)
    }
  }

  /** The cursor of an account that is followed. */
  cursorOf(accountId: string): Cursor | undefined {
    return this.#groups.get(accountId)?.cursor
  }

  /** For how long an open transaction has held back later events, in milliseconds. */
  heldMs(): number {
    const [first] = this.#marks
    return this.#seen && this.#seen.order !== this.#seen.next && first ? this.#parts.clock.now() - first.atMs : 0
  }

  stop(): void {
    this.#stopped.abort()
    this.#endAll(this.#stopped.signal.reason)
  }

  #begin(accountId: string, cursor: Cursor): Group<Shown> {
    const sinceMs = cursor.order === 0 ? 0 : timeOfId(cursor.id)
    const group: Group<Shown> = { accountId, cursor, sinceMs, hasMore: true, followers: new Set() }
    this.#groups.set(accountId, group)
    if (!this.#isRunning) void this.#run()
    return group
  }

  /** Reads until nothing follows. What is known about the server holds until a failure. */
  async #run(): Promise<void> {
    const { signal } = this.#stopped
    this.#isRunning = true
    this.#forgetServer()
    while (this.#groups.size > 0 && !signal.aborted) {
      const startMs = performance.now()
      try {
        await this.#round()
      } catch (error) {
        if (!signal.aborted) this.#parts.report(error)
        // Before the streams end: some of them begin anew within the pause.
        this.#forgetServer()
        this.#endAll(error)
      }
      const tookMs = performance.now() - startMs
      const isBehind = [...this.#groups.values()].some(({ hasMore }) => hasMore)
      const pauseMs = isBehind ? 0 : Math.max(EVERY_MS - tookMs, tookMs / MOST_SHARE - tookMs)
      await sleep(pauseMs, undefined, { ref: false, signal }).catch(() => {})
    }
    this.#isRunning = false
  }

  async #round(): Promise<void> {
    const { reads, clock } = this.#parts
    const nowMs = clock.now()
    const now = await reads.horizon()
    const seen = this.#seen
    if (seen && (now.timeline !== seen.timeline || now.cluster !== seen.cluster)) throw new PrimaryChanged()
    const sinceMs = this.#passedMs(now, nowMs)
    const hasNew = now.order !== seen?.order
    this.#seen = now
    const due = [...this.#groups.values()].filter(({ hasMore }) => hasNew || hasMore)
    if (due.length === 0) return
    const cursors = due.map(({ accountId, cursor }) => ({ accountId, ...cursor }))
    const rows = await reads.readNew(cursors, Math.min(...due.map(({ sinceMs }) => sinceMs)))
    if (rows.some(({ timeline }) => timeline !== now.timeline)) throw new PrimaryChanged()
    const ofAccount = Map.groupBy(rows, ({ accountId }) => accountId)
    await Promise.all(due.map((group) => this.#pass(group, ofAccount.get(group.accountId) ?? [], sinceMs)))
  }

  /**
   * Notes the horizon. Returns the time since which all transactions above it have begun, as far as it is known: a
   * foreign one can hold it for days, and then releases events of all that time.
   */
  #passedMs({ order, next }: Horizon, nowMs: number): number {
    this.#marks.push({ order: next, atMs: nowMs })
    const passed = this.#marks.findLastIndex((mark) => mark.order <= order)
    const kept = this.#marks.slice(Math.max(passed, 0))
    this.#marks = kept.length > MOST_MARKS ? kept.filter((_, i) => i % 2 === 0) : kept
    return passed < 0 ? 0 : (this.#marks[0]?.atMs ?? 0)
  }

  async #pass(group: Group<Shown>, rows: ReadEvent[], sinceMs: number): Promise<void> {
    group.hasMore = rows.length === PAGE
    const last = rows.at(-1)
    if (last) {
      const events = await this.#parts.show(group.accountId, rows)
      group.cursor = cursorOfRow(last)
      const batch = { events, cursor: group.cursor }
      for (const follower of [...group.followers]) follower.take(batch)
    }
    if (!group.hasMore) group.sinceMs = Math.max(group.sinceMs, sinceMs)
  }

  /** Forgets what is known about the server: the next one may be another. */
  #forgetServer(): void {
    this.#seen = undefined
    this.#marks = []
  }

  #endAll(cause: unknown): void {
    const followers = [...this.#groups.values()].flatMap((group) => [...group.followers])
    this.#groups.clear()
    for (const follower of followers) follower.end(cause)
  }
}
