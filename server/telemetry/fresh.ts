import { inTime } from '../async/timeout.ts'

/** How long a value is used before it is read again. */
const KEEP_MS = 10_000
/** How long a scrape waits for a new value. After that it shows the last one. */
const WAIT_MS = 1_000

/**
 * Reads a value at a scrape when the last one is ten seconds old: one reading at a time, however many scrapes ask.
 * `read` must end by itself; one that fails is tried again at the next scrape.
 */
export function keepFresh<T>(read: () => Promise<T>, first: T) {
  let value = first
  let readMs = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  async function renew(): Promise<void> {
    if (performance.now() - readMs < KEEP_MS) return
    reading ??= read()
      .then(
        (result) => {
          value = result
          readMs = performance.now()
        },
        () => {},
      )
      .finally(() => {
        reading = undefined
      })
    await inTime(reading, WAIT_MS).catch(() => {})
  }

  return { renew, value: () => value, ageMs: () => performance.now() - readMs }
}
