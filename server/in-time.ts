/** What `work` gives. Throws `late` when it takes longer: whether it was done is then unknown, and nobody waits for it any more. */
export async function inTime<T>(
  work: Promise<T>,
  ms: number,
  late = () => new Error(`the database did not answer within ${Math.round(ms)} ms`),
): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late()), ms)
  return Promise.race([work, over]).finally(() => clearTimeout(timer))
}
