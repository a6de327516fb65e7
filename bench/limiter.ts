import { randomUUID } from 'node:crypto'
import { DEFAULT_LIMITS } from '../server/config/limits.ts'
import { applyMigrations } from '../server/db/migrations.ts'
import { measure } from './load/cpu.ts'
import { startDatabase } from './load/database.ts'
import { startHttpLoad } from './load/http.ts'
import { type Counting, startLimiter } from './load/limiter.ts'
import { startProduct } from './load/product.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { atMost, type Report } from './report.ts'

const SENDS = 2_000
const IN_FLIGHT = 64
const UNLIMITED = DEFAULT_LIMITS.tiers.unlimited!.requestsPerMinute
/** The database counts every request of this tier. */
const SCALE = DEFAULT_LIMITS.tiers.scale!.requestsPerMinute

/** What counting a request costs beside its send, and whether two processes ever admit too many. */
export async function run(): Promise<Report> {
  const send = await costOfSends()
  await using limiters = await startLimiters()

  await limiters.cost({ perMinute: UNLIMITED, requests: 20_000, inFlight: IN_FLIGHT })
  const unlimited = await limiters.cost({ perMinute: UNLIMITED, requests: 200_000, inFlight: IN_FLIGHT })
  const unlimitedAlone = await limiters.cost({ perMinute: UNLIMITED, requests: 20_000, inFlight: 1 })
  const beside = await limiters.cost({ perMinute: SCALE, requests: 20_000, inFlight: IN_FLIGHT })
  const alone = await limiters.cost({ perMinute: SCALE, requests: 4_000, inFlight: 1 })
  // Up to 30,000 a process takes places ahead.
  const over = []
  for (const perMinute of [600, SCALE, 30_000]) over.push((await limiters.admitted(perMinute)) - perMinute)

  return {
    figures: {
      'send, CPU us of API and PostgreSQL': send.cpuMicros,
      'send beside 63 others, mean ms': send.besideMs,
      'send alone, mean ms': send.aloneMs,
      'count of an unlimited account, CPU us of both': unlimited.cpuMicros,
      'count of a scale account beside 63 others, mean ms': beside.meanMs,
      'count of a scale account alone, CPU us of both': alone.cpuMicros,
      'count of an unlimited account alone, mean ms': unlimitedAlone.meanMs,
      'count of a scale account alone, mean ms': alone.meanMs,
      "share of a lone send's time on loopback, scale": alone.meanMs / send.aloneMs,
      'admitted below the limits': -Math.min(0, ...over),
    },
    bars: [
      atMost("share of a send's CPU, unlimited", unlimited.cpuMicros / send.cpuMicros, 0.05),
      atMost("share of a lone send's time, unlimited", unlimitedAlone.meanMs / send.aloneMs, 0.05),
      atMost("share of a send's time beside 63 others, scale", beside.meanMs / send.besideMs, 0.05),
      atMost('over-admissions of two processes', Math.max(0, ...over), 0),
    ],
  }
}

async function costOfSends(): Promise<{ cpuMicros: number; besideMs: number; aloneMs: number }> {
  await using sink = await startSink()
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  const send = (connections: number, requests: number) =>
    http.ask(sendRun(product, { connections, requests })).then(expectDelivered)

  await send(IN_FLIGHT, 1_000)
  const { cpu, result } = await measure([[product.apiPid], [product.postgresPid]], () => send(IN_FLIGHT, SENDS))
  const alone = await send(1, 300)
  return {
    cpuMicros: perRequest(cpu, SENDS),
    besideMs: mean(result.latenciesMs),
    aloneMs: mean(alone.latenciesMs),
  }
}

/** Starts two rate limiters over a fresh embedded PostgreSQL. */
async function startLimiters() {
  await using parts = new AsyncDisposableStack()
  const database = parts.use(await startDatabase())
  await applyMigrations(database.url)
  const workers = [parts.use(await startLimiter(database.url)), parts.use(await startLimiter(database.url))] as const
  const started = parts.move()

  async function cost(counting: Omit<Counting, 'accountId'>) {
    const ask = () => workers[0].ask({ ...counting, accountId: randomUUID() })
    const { result, cpu } = await measure([[workers[0].pid], [database.pid]], ask)
    return { cpuMicros: perRequest(cpu, counting.requests), meanMs: result.meanMs }
  }

  /** The requests admitted to one window when both processes ask for all of it. */
  async function admitted(perMinute: number): Promise<number> {
    const counting = { accountId: randomUUID(), perMinute, requests: perMinute, inFlight: IN_FLIGHT }
    const counts = await Promise.all(workers.map((worker) => worker.ask(counting)))
    return counts.reduce((sum, { admitted }) => sum + admitted, 0)
  }

  return { cost, admitted, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

const perRequest = (cpuSeconds: number[], requests: number) =>
  (cpuSeconds.reduce((sum, seconds) => sum + seconds, 0) * 1e6) / requests

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
