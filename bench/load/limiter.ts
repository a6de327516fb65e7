import { createLimiter } from '../../server/access/limiter.ts'
import { connect } from '../../server/db/connect.ts'
import { startWorker, type Worker, work } from './process.ts'

export interface Counting {
  accountId: string
  perMinute: number
  requests: number
  inFlight: number
}

export interface Counts {
  admitted: number
  meanMs: number
}

/** Starts a rate limiter in its own process. */
export function startLimiter(databaseUrl: string): Promise<Worker<Counting, Counts>> {
  return startWorker(import.meta.filename, [databaseUrl])
}

if (import.meta.main) {
  const count = createLimiter(connect(process.argv[2]!))
  work<Counting, Counts>(async ({ accountId, perMinute, requests, inFlight }) => {
    const startedAt = performance.now()
    let remaining = requests
    let admitted = 0
    async function ask(): Promise<void> {
      while (remaining-- > 0) {
        if ((await count(accountId, perMinute)).admitted) admitted++
      }
    }
    await Promise.all(Array.from({ length: inFlight }, ask))
    return { admitted, meanMs: ((performance.now() - startedAt) * inFlight) / requests }
  })
}
