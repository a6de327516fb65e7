/** What `work` gives. Throws when it takes longer: whether it was done is then unknown, and nobody waits for it any more. */
export async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`the database did not answer within ${Math.round(ms)} ms`)), ms)
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
