import { createBoundedMap } from '../../net/bounded-map.ts'
import { inTime } from '../async/timeout.ts'
import { type Outage, throughOutage } from './outage.ts'

// How sends share statements. docs/adr/0122-shared-statements.md has the figures, and what was tried beside it.
//
// A statement has a fixed cost in PostgreSQL and in the driver, much the same for one row and for nine. So every step
// of a send is one statement over many rows, and a collector in front of it gathers the rows of all sends that need the
// step at the same moment.
//
// - One statement of a collector runs at a time: two would split the waiting rows and pay the fixed cost twice. Rows
//   that come while it runs go out together when it has ended. A statement that takes over 20 ms is slow, or its
//   result was lost: another lane opens then, so that it delays no other row.
// - With few sends in flight a row mostly finds no statement running, and would go out alone. It waits up to 2 ms for
//   the rows of the other sends in flight, and goes out as soon as all are there. Sends that share one statement reach
//   the next one together, so after a few statements they wait for nothing. A send alone does not wait.
// - Sends that are at a mail server bring no row soon, so they do not count (`away`).
// - A wait must pay. After a wait in vain the next two rows go out at once, then four, and so on up to 64.
//
// A lock on the rows of one account must not hold up all others. A statement that gave up a lock runs again, each
// account by itself. An account that gives it up alone is held: its rows have their own lane until one is stored.
//
// Two more things make a statement cheap: it runs on the first connection that is free, so that at low load the same
// few server processes run all (warm.ts), and claim and record have a short form for the usual send.

/** The most that one statement takes. */
const MAX_ROWS = 100
const MAX_BYTES = 4 * 1024 * 1024
/**
 * The most statements of one collector that run at a time. While statements are quick, only one runs: two would share
 * the same rows and cost twice the work.
 */
export const LANES = 3
/** A statement that takes longer is slow, or its result was lost: pending rows go out in another lane. */
const SLOW_MS = 20
/** The lane of held rows, after those of the others. */
const HELD_LANE = LANES
/** The numbers of lanes that a statement may run in. */
export const ALL_LANES = LANES + 1
/** How long rows are held after the last one that gave up its lock. */
const HELD_MS = 10_000
const MAX_HELD = 10_000
/** After this number of groups in a row that gave up their locks, the others share a statement again. */
const LOCKED_IN_A_ROW = 2

/** How often a batch runs again after it has lost a deadlock or a serialisation race. */
const MAX_RERUNS = 5
/** Longer than any statement may take: after this time a lane whose result was lost is free again. */
const RUN_MS = 20_000

/** How long a row waits for those of other sends. */
const OTHERS_MS = 2
/** The most rows that go out at once after waits in vain. */
const MAX_AT_ONCE = 64

interface CollectorOptions<Row> {
  lingerMs?: number
  /** The sends in flight, with the one whose row comes. Each may soon bring a row. */
  load?: Load
  /** For a statement that is harmless to repeat: it runs again when its connection was lost. */
  repeatable?: { outage: Outage }
  /** Called after each batch, with its rows and its duration. */
  note?: NoteBatch
  /** Whose rows may be locked together: an account, or less where its rows do not show it. */
  groupOf(row: Row): string
}

export type NoteBatch = (rows: number, seconds: number) => void

type RunBatch<Row, Result> = (rows: Row[], lane: number) => Promise<Result[]>
type Waiter<Row, Result> = { row: Row; resolve(result: Result): void; reject(error: unknown): void }

/**
 * Shares one statement between the callers that need it at the same moment. `runBatch` takes many rows and returns one
 * result for each, in their order. Its second argument is its lane, 0 to ALL_LANES - 1: one lane runs one statement at
 * a time. What becomes of a batch that fails: see `#settle`.
 *
 * With `lingerMs` the first row waits that long for others. This saves statements where a delay does no harm. With
 * `load` a row waits for those of the other sends, as above.
 */
export function createCollector<Row extends { json: string }, Result>(
  runBatch: RunBatch<Row, Result>,
  options: CollectorOptions<Row>,
): (row: Row) => Promise<Result> {
  const collector = new Collector(runBatch, options)
  return (row) => new Promise((resolve, reject) => collector.add({ row, resolve, reject }))
}

class Collector<Row extends { json: string }, Result> {
  readonly #runBatch: RunBatch<Row, Result>
  readonly #options: CollectorOptions<Row>
  readonly #waitMs: number
  readonly #others: ReturnType<typeof waitForOthers> | undefined
  #pending: Waiter<Row, Result>[] = []
  /** The rows of held groups, and until when each group is held. */
  #heldPending: Waiter<Row, Result>[] = []
  readonly #held = createBoundedMap<number>({ maxEntries: MAX_HELD })
  #isHeldLaneBusy = false
  readonly #idleLanes = Array.from({ length: LANES }, (_, lane) => LANES - 1 - lane)
  #quickStatements = 0
  #waiting: NodeJS.Timeout | undefined

  constructor(runBatch: RunBatch<Row, Result>, options: CollectorOptions<Row>) {
    const { lingerMs = 0, load } = options
    this.#runBatch = runBatch
    this.#options = options
    this.#waitMs = load ? OTHERS_MS : lingerMs
    this.#others = load && waitForOthers()
  }

  add(waiter: Waiter<Row, Result>): void {
    if (performance.now() < (this.#held.get(this.#groupOf(waiter)) ?? 0)) {
      this.#heldPending.push(waiter)
      void this.#workOnHeld()
    } else {
      this.#pending.push(waiter)
      this.#openSoon()
    }
  }

  #groupOf({ row }: Waiter<Row, Result>): string {
    return this.#options.groupOf(row)
  }

  /** A full batch goes out at once. */
  #openSoon(): void {
    const others = this.#others
    const isFull = this.#pending.length >= Math.min(this.#options.load?.sends ?? MAX_ROWS, MAX_ROWS)
    if (others && this.#quickStatements > 0) others.came()
    else if (this.#waitMs === 0 || isFull || (!this.#waiting && others?.mayCome() === false)) this.#open()
    else this.#waiting ??= setTimeout(() => this.#endWait(), this.#waitMs)
  }

  #endWait(): void {
    this.#waiting = undefined
    if (this.#quickStatements === 0) this.#others?.waited(this.#pending.length)
    this.#open()
  }

  #open(): void {
    if (this.#quickStatements > 0 || this.#pending.length === 0) return
    const lane = this.#idleLanes.pop()
    if (lane !== undefined) void this.#work(lane)
  }

  async #work(lane: number): Promise<void> {
    while (this.#quickStatements === 0 && this.#pending.length > 0) {
      this.#quickStatements++
      let isSlow = false
      const timer = setTimeout(() => {
        isSlow = true
        this.#quickStatements--
        this.#open()
      }, SLOW_MS)
      await this.#settle(this.#takeBatch(), lane)
      clearTimeout(timer)
      if (!isSlow) this.#quickStatements--
      if (this.#options.lingerMs) break
    }
    this.#idleLanes.push(lane)
    if (this.#pending.length > 0) this.#openSoon()
  }

  #takeBatch(): Waiter<Row, Result>[] {
    let rows = 0
    let bytes = 0
    for (const { row } of this.#pending) {
      if (rows === MAX_ROWS || bytes >= MAX_BYTES) break
      bytes += row.json.length
      rows++
    }
    return this.#pending.splice(0, rows)
  }

  /** From now on the group's rows wait for each other alone. */
  #hold(group: string): void {
    this.#held.set(group, performance.now() + HELD_MS)
    const isOfGroup = (waiter: Waiter<Row, Result>) => this.#groupOf(waiter) === group
    this.#heldPending.push(...this.#pending.filter(isOfGroup))
    this.#pending = this.#pending.filter((waiter) => !isOfGroup(waiter))
    void this.#workOnHeld()
  }

  /** One group at a time, each with the rows that wait by then. */
  async #workOnHeld(): Promise<void> {
    if (this.#isHeldLaneBusy) return
    this.#isHeldLaneBusy = true
    for (let [first] = this.#heldPending; first; [first] = this.#heldPending) {
      const group = this.#groupOf(first)
      const batch = this.#heldPending.filter((waiter) => this.#groupOf(waiter) === group).slice(0, MAX_ROWS)
      this.#heldPending = this.#heldPending.filter((waiter) => !batch.includes(waiter))
      if (await this.#settle(batch, HELD_LANE)) this.#held.delete(group)
    }
    this.#isHeldLaneBusy = false
  }

  /**
   * Runs a batch and settles its rows. Returns false when the batch gave up a lock.
   *
   * A batch that fails with SQLSTATE 40xxx runs again unchanged, because nothing of it was done. With 22xxx or 23xxx
   * one row is poisonous: the rows run one by one, and each gets its own result or error. With 55P03 each group runs by
   * itself, because the lock may be on the rows of one of them. A group that gives up its lock alone is held. Any other
   * error reaches every row of the batch; whether the batch was committed is then unknown. A
   * `repeatable` batch first runs again, if its connection was lost.
   */
  async #settle(batch: Waiter<Row, Result>[], lane: number): Promise<boolean> {
    const { groupOf, note } = this.#options
    const startedMs = performance.now()
    let isStored = true
    try {
      const rows = batch.map(({ row }) => row)
      const results = await this.#runAgainOnRace(rows, lane)
      for (const [i, waiter] of batch.entries()) waiter.resolve(results[i]!)
    } catch (error) {
      const groups = isLocked(error) ? Map.groupBy(batch, ({ row }) => groupOf(row)) : undefined
      if (batch.length > 1 && isRowFault(error)) for (const waiter of batch) await this.#settle([waiter], lane)
      else if (groups && groups.size > 1) await this.#settleEach(groups, lane)
      else {
        isStored = !groups
        for (const waiter of batch) waiter.reject(error)
        for (const group of groups?.keys() ?? []) this.#hold(group)
      }
    }
    note?.(batch.length, (performance.now() - startedMs) / 1_000)
    return isStored
  }

  async #settleEach(groups: Map<string, Waiter<Row, Result>[]>, lane: number): Promise<void> {
    let locked = 0
    for (const batch of groups.values()) {
      if (locked === LOCKED_IN_A_ROW) this.#pending.push(...batch)
      else locked = (await this.#settle(batch, lane)) ? 0 : locked + 1
    }
  }

  async #runAgainOnRace(rows: Row[], lane: number): Promise<Result[]> {
    const { repeatable } = this.#options
    for (let rerun = 0; ; rerun++) {
      try {
        const attempt = () => inTime(this.#runBatch(rows, lane), RUN_MS)
        return await (repeatable ? throughOutage(repeatable, attempt) : attempt())
      } catch (error) {
        if (!sqlStateOf(error).startsWith('40') || rerun === MAX_RERUNS) throw error
      }
    }
  }
}

/** Says whether a row should wait for those of others, by what earlier waits brought. */
function waitForOthers() {
  let inVain = 1
  let rowsAtOnce = 0
  const came = () => {
    inVain = 1
    rowsAtOnce = 0
  }
  return {
    /** Asked once for each row that could wait. */
    mayCome: (): boolean => rowsAtOnce-- <= 0,
    came,
    /** A wait has ended, with this many rows. */
    waited(rows: number): void {
      if (rows > 1) came()
      if (rows !== 1) return
      inVain = Math.min(inVain * 2, MAX_AT_ONCE)
      rowsAtOnce = inVain
    },
  }
}

/** The sends in flight; `db.load`. */
interface Load {
  sends: number
}

/** Counts a send as in flight while `work` runs: the rows of others may wait for its rows. */
export const inFlight = <T>(load: Load, work: () => Promise<T>): Promise<T> => counted(load, 1, work)

/** For the time that a send in flight is at a mail server. */
export const away = <T>(load: Load, work: () => Promise<T>): Promise<T> => counted(load, -1, work)

async function counted<T>(load: Load, change: number, work: () => Promise<T>): Promise<T> {
  load.sends += change
  try {
    return await work()
  } finally {
    load.sends -= change
  }
}

/** Whether one row of the batch is poisonous; nothing of the batch was done. */
export const isRowFault = (error: unknown) => /^2[23]/.test(sqlStateOf(error))

/** Whether a statement gave up a lock: nothing of it was done. The query builder wraps the driver's errors. */
export function isLocked(error: unknown): boolean {
  const { cause } = (error ?? {}) as { cause?: unknown }
  return [error, cause].some((each) => sqlStateOf(each) === LOCK_NOT_AVAILABLE)
}

const LOCK_NOT_AVAILABLE = '55P03'

/** The SQLSTATE of a PostgreSQL error; empty for any other error. */
export function sqlStateOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : ''
}

/** Whether a statement failed because a row broke this constraint. */
export const breaks = (error: unknown, constraint: string): boolean =>
  (error as { constraint_name?: unknown } | null)?.constraint_name === constraint

/** The rows of a batch as the one JSON array that a statement reads with `json_to_recordset`. */
export function jsonArray(rows: { json: string }[]): string {
  return `[${rows.map((row) => row.json).join(',')}]`
}
