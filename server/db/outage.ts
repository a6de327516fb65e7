import { setTimeout as sleep } from 'node:timers/promises'
import { inTime } from '../async/timeout.ts'

/**
 * A database that moves to another server is back within seconds. Within this time a lost connection fails no request.
 * The time limits of single steps hold as well.
 */
export const OUTAGE_MS = 12_000
/**
 * The longest that a step of a request waits for a slow or silent database. A send would take a longer wait from the
 * time of the recipient's server, and blame that server.
 */
const STEP_MS = 5_000
const PAUSE_MS = 100

/** Whether a database is away, as its connections show it. */
export interface Outage {
  /** Whether an outage that has just begun may still pass. Also true while there is none. */
  mayPass(): boolean
  /** The end of the last outage, on the clock of `performance.now()`. The present while one may pass. */
  lastMs(): number
}

// SQLSTATE of lost sessions (08, 57P01 to 57P03), and the codes of sockets and of the driver.
const LOST = /^(08...|57P0[123]|E(CONNRESET|CONNREFUSED|PIPE)|CONNECTION_(CLOSED|MOVED)|CONNECT_TIMEOUT)$/

/** Whether a statement failed because its connection broke, or none could be opened. It may have been executed. */
export function isLost(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== undefined && LOST.test(code)) return true
  }
  return false
}

/**
 * Repeats work whose connection was lost, until the outage lasts too long. The work must be harmless to repeat, because
 * it may have been done.
 */
export async function throughOutage<T>(
  { outage }: { outage: Outage },
  work: () => Promise<T>,
  mayRepeat: (error: unknown) => boolean = isLost,
): Promise<T> {
  let untilMs: number | undefined
  for (;;) {
    try {
      return await work()
    } catch (error) {
      // A statement that itself ends the server is not repeated for ever.
      untilMs ??= performance.now() + OUTAGE_MS
      if (!mayRepeat(error) || !outage.mayPass() || performance.now() > untilMs) throw error
      await sleep(PAUSE_MS)
    }
  }
}

/**
 * Waits for a step of a request, at most 5 s. An outage that may pass does not count, because the step waits for its
 * end by itself. Whether a step that is late was done is unknown, and its result is ignored.
 */
export async function stepInTime<T>({ outage }: { outage: Outage }, step: Promise<T>): Promise<T> {
  let late: Error | undefined
  const makeLate = () => (late = new Error(`the database gave no result within ${STEP_MS} ms`))
  for (let leftMs = STEP_MS; ; ) {
    try {
      return await inTime(step, leftMs, makeLate)
    } catch (error) {
      leftMs = outage.lastMs() + STEP_MS - performance.now()
      if (error !== late || leftMs <= 0) throw error
    }
  }
}
