import { inTime } from '../in-time.ts'

/** How much one statement takes at the most. */
const MAX_ROWS = 100
const MAX_BYTES = 4 * 1024 * 1024
/** How many statements of one collector may run at a time. One does, while it is quick: two would share the rows, at twice the work. */
export const LANES = 3
/** From here on a statement is slow, or its answer lost on the way: what waits goes out in another lane. */
const SLOW_MS = 20
/** How often a batch that lost a deadlock or a serialisation race is run again. */
const MAX_RERUNS = 5
/** Longer than any statement may take: a lane whose answer was lost on the way is free again. */
const RUN_MS = 20_000

/**
 * One statement shared by the sends that need it at the same moment. What waits when it has ended goes out together; a send
 * that is alone waits for nobody. `run` takes many rows and gives one result for each, in their order; it hears in which lane, 0 to
 * LANES - 1, it runs: in one lane one statement runs at a time.
 *
 * A batch that fails with SQLSTATE 40xxx runs again as it was (nothing of it was done). With 22xxx or 23xxx one row is
 * poisonous: the rows run one by one, and each gets its own result or error. Any other error reaches every row of the batch;
 * whether it was committed is then unknown.
 *
 * With `lingerMs` the first row waits so long for others: fewer statements, where nobody is in a hurry.
 */
export function collector<Row extends { json: string }, Result>(
  run: (rows: Row[], lane: number) => Promise<Result[]>,
  { lingerMs = 0 } = {},
): (row: Row) => Promise<Result> {
  const waiting: { row: Row; resolve: (result: Result) => void; reject: (error: unknown) => void }[] = []
  const idle = Array.from({ length: LANES }, (_, lane) => LANES - 1 - lane)
  let quick = 0
  let isLingering = false

  /** A batch that is full goes out at once. */
  function openSoon(): void {
    if (lingerMs === 0 || waiting.length >= MAX_ROWS) open()
    else if (!isLingering) {
      isLingering = true
      setTimeout(() => {
        isLingering = false
        open()
      }, lingerMs)
    }
  }

  function open(): void {
    if (quick > 0 || waiting.length === 0) return
    const lane = idle.pop()
    if (lane !== undefined) void work(lane)
  }

  async function work(lane: number): Promise<void> {
    while (quick === 0 && waiting.length > 0) {
      quick++
      let isSlow = false
      const timer = setTimeout(() => {
        isSlow = true
        quick--
        open()
      }, SLOW_MS)
      await settle(takeBatch(), lane)
      clearTimeout(timer)
      if (!isSlow) quick--
      if (lingerMs > 0) break
    }
    idle.push(lane)
    if (waiting.length > 0) openSoon()
  }

  function takeBatch(): typeof waiting {
    let rows = 0
    let bytes = 0
    while (rows < Math.min(waiting.length, MAX_ROWS) && (rows === 0 || bytes < MAX_BYTES)) {
      bytes += waiting[rows++]!.row.json.length
    }
    return waiting.splice(0, rows)
  }

  async function settle(batch: typeof waiting, lane: number): Promise<void> {
    try {
      const results = await runAgainOnRace(
        batch.map((waiter) => waiter.row),
        lane,
      )
      batch.forEach((waiter, i) => {
        waiter.resolve(results[i]!)
      })
    } catch (error) {
      if (batch.length > 1 && isRowFault(error)) for (const waiter of batch) await settle([waiter], lane)
      else for (const waiter of batch) waiter.reject(error)
    }
  }

  async function runAgainOnRace(rows: Row[], lane: number): Promise<Result[]> {
    for (let rerun = 0; ; rerun++) {
      try {
        return await inTime(run(rows, lane), RUN_MS)
      } catch (error) {
        if (!sqlStateOf(error).startsWith('40') || rerun === MAX_RERUNS) throw error
      }
    }
  }

  return (row) =>
    new Promise((resolve, reject) => {
      waiting.push({ row, resolve, reject })
      openSoon()
    })
}

/** One row of the batch is poisonous; nothing was done. */
export const isRowFault = (error: unknown) => /^2[23]/.test(sqlStateOf(error))

/** The SQLSTATE of an error of Postgres, empty for any other. */
export function sqlStateOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : ''
}

/** The rows of a batch as the one JSON array that a statement reads with `json_to_recordset`. */
export function jsonArray(rows: { json: string }[]): string {
  return `[${rows.map((row) => row.json).join(',')}]`
}
