import { machineMs } from './load/clock.ts'
import { untilCalm } from './load/cpu.ts'
import { configure } from './load/endpoints.ts'
import { latenciesOf } from './load/latencies.ts'
import { startPosts, type TimedResponse } from './load/posts.ts'
import { type Product, startProduct } from './load/product.ts'
import { type Arrival, startReceiver } from './load/receiver.ts'
import { startRetryWorker, watchDispatches } from './load/retries.ts'
import { isDelivered, sendBody } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { startTemporal } from './load/temporal.ts'
import { atLeast, atMost, percentile, type Report } from './report.ts'

const PER_SECOND = 20
const BEFORE_S = 30
/** Stands for ten minutes: like the schedule, everything runs ten times as fast. */
const AWAY_S = 60
const SCHEDULE = '0,6s,30s,90s'
const DRAINS_WITHIN_S = 60

/** Temporal stops and starts again while sends continue. One in three of their events is not acknowledged at once. */
export async function run(): Promise<Report> {
  await using parts = new AsyncDisposableStack()
  const sink = parts.use(await startSink())
  const receiver = parts.use(await startReceiver())
  const temporal = parts.use(await startTemporal())
  const env = { TEMPORAL_ADDRESS: temporal.address, WEBHOOK_SCHEDULE: SCHEDULE }
  const product = parts.use(await startProduct(sink, { env }))
  await startRetryWorker(product, { temporalAddress: temporal.address, schedule: SCHEDULE }, parts)
  const dispatches = watchDispatches(product.databaseUrl, parts)
  const posts = parts.use(await startPosts())
  const send = (seconds: number) => posts.ask(sends(product, seconds))

  await configure(product, 'PUT', receiver.url('bench'))
  await receiver.setBehaviour('bench', { failsEveryNth: 3 })
  await send(3)
  await untilCalm()
  const before = await send(BEFORE_S)
  await temporal.stop()
  const meanwhile = await send(AWAY_S)
  const backlog = await dispatches.countOpen()
  await temporal.start()
  const backMs = machineMs()
  await dispatches.untilDrained()
  const drainedS = (machineMs() - backMs) / 1_000

  const arrivals = await receiver.take()
  const [ratio, figures] = compare(firstAttempts(before, arrivals), firstAttempts(meanwhile, arrivals))
  const { acknowledged, otherwise } = await dispatches.countEnds()
  return {
    figures: { ...figures, 'backlog when it is back': backlog, 'drained s after it is back': drainedS, acknowledged },
    bars: [
      atLeast('share of good sends meanwhile', meanwhile.filter(isDelivered).length / meanwhile.length, 1),
      atMost('p99 of first attempts relative to that before', ratio, 2),
      atLeast('backlog when it is back', backlog, Math.floor(meanwhile.length / 3)),
      atMost('drained s after it is back', drainedS, DRAINS_WITHIN_S),
      atMost('not acknowledged', otherwise, 0),
    ],
  }
}

function sends({ port, key }: Product, seconds: number) {
  const pace = { events: PER_SECOND * seconds, perSecond: PER_SECOND }
  return { port, key, path: '/api/v1/emails/send', bodies: [sendBody()], pace }
}

/** Milliseconds from when a send was due to the first arrival of its event. */
function firstAttempts(sends: readonly TimedResponse[], arrivals: readonly Arrival[]): number[] {
  const due = sends.filter(isDelivered).map(({ body, dueMs }): [string, number] => [JSON.parse(body).message_id, dueMs])
  return latenciesOf(
    due,
    arrivals.map((arrival) => ({ ...arrival, eventId: arrival.messageId })),
  )
}

function compare(before: readonly number[], meanwhile: readonly number[]): [ratio: number, Report['figures']] {
  const [before99, meanwhile99] = [percentile(before, 0.99), percentile(meanwhile, 0.99)]
  const figures = {
    'send and first attempt before, p50 ms': percentile(before, 0.5),
    'send and first attempt before, p99 ms': before99,
    'send and first attempt meanwhile, p50 ms': percentile(meanwhile, 0.5),
    'send and first attempt meanwhile, p99 ms': meanwhile99,
  }
  return [meanwhile99 / before99, figures]
}
