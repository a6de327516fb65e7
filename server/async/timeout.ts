/**
 * Waits for `work` for a limited time. Throws `late` when the time is over. Whether the work was done is then
 * unknown, and its result is ignored.
 */
export async function inTime<T>(
  work: Promise<T>,
  ms: number,
  late = () => new Error(`no result within ${Math.round(ms)} ms`),
): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late()), ms)
  return Promise.race([work, deadline]).finally(() => clearTimeout(timer))
}

/** As `inTime`, up to a time of `performance.now()`. */
export const byTime = <T>(work: Promise<T>, untilMs: number, late?: () => Error): Promise<T> =>
  inTime(work, untilMs - performance.now(), late)
