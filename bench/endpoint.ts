import { machineMs } from './load/clock.ts'
import { configure } from './load/endpoints.ts'
import { startHttpLoad } from './load/http.ts'
import { type Product, startProduct } from './load/product.ts'
import { type Receiver, startReceiver } from './load/receiver.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { until } from './load/until.ts'
import { figuresOf, type Pair, playPairs, type Round, ratio, round } from './pairs.ts'
import { atLeast, atMost, median, percentile, type Report } from './report.ts'

/** The dispatcher runs in a thread that compiles its own machine code. After this many events it is at full speed. */
const WARM_UP_MESSAGES = 20_000
const IN_FLIGHT = 64
const MESSAGES = 2_500
const MESSAGES_ALONE = 500
/** Many short rounds, because one round says little on a shared machine. */
const ROUNDS = 12

/**
 * Sends of an account with a webhook endpoint that acknowledges each event, against sends of the same account without
 * one: 64 in flight, and one after the other.
 */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using receiver = await startReceiver()
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()

  async function sends(requests: number, connections: number): Promise<TimedRound> {
    let latenciesMs: number[] = []
    let endedMs = 0
    const roundFigures = await round([product.apiPid, product.postgresPid], requests, async () => {
      const responses = await http.ask(sendRun(product, { connections, requests }))
      endedMs = machineMs()
      expectDelivered(responses)
      latenciesMs = responses.latenciesMs
    })
    return { ...roundFigures, endedMs, p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) }
  }
  const withEndpoint = withEndpointOf(product, receiver)
  const play = (requests: number, connections: number) =>
    playPairs(
      () => withEndpoint(requests, () => sends(requests, connections)),
      () => sends(requests, connections),
      'without an endpoint',
      ROUNDS,
    )

  const { behindMs } = await withEndpoint(WARM_UP_MESSAGES, () => sends(WARM_UP_MESSAGES, IN_FLIGHT))
  const full = await play(MESSAGES, IN_FLIGHT)
  console.log('one after the other')
  const alone = await play(MESSAGES_ALONE, 1)
  const longer = alone.map(({ ours, theirs }) => ours.p50 / theirs.p50)
  return {
    figures: {
      ...figuresOf('with an endpoint:', ours(full)),
      ...figuresOf('without:', theirs(full)),
      [`behind after ${WARM_UP_MESSAGES} sends, ms`]: behindMs,
      'with an endpoint, alone: p50 ms': median(ours(alone).map(({ p50 }) => p50)),
      'with an endpoint, alone: p99 ms': median(ours(alone).map(({ p99 }) => p99)),
      'without, alone: p50 ms': median(theirs(alone).map(({ p50 }) => p50)),
      'without, alone: p99 ms': median(theirs(alone).map(({ p99 }) => p99)),
    },
    bars: [
      atLeast('sends/s with an endpoint relative to those without', ratio(full, 'perSecond'), 0.9),
      atMost('p50 of one send after the other relative to that without one', median(longer), 1.1),
    ],
  }
}

interface TimedRound extends Round {
  /** When the last send ended, by the machine's clock. */
  endedMs: number
  p50: number
  p99: number
}

const ours = (pairs: Pair<TimedRound, TimedRound>[]) => pairs.map(({ ours }) => ours)
const theirs = (pairs: Pair<TimedRound, TimedRound>[]) => pairs.map(({ theirs }) => theirs)

/** Does work while the account has an endpoint. `behindMs` is how long after the work its last event arrived. */
function withEndpointOf(product: Product, receiver: Receiver) {
  return async (events: number, work: () => Promise<TimedRound>): Promise<TimedRound & { behindMs: number }> => {
    await configure(product, 'PUT', receiver.url('bench'))
    const result = await work()
    await until('every event has arrived', async () => (await receiver.count()) >= events)
    await configure(product, 'DELETE')
    const arrivals = await receiver.take()
    if (arrivals.length !== events) throw new Error(`${arrivals.length} posts for ${events} events`)
    return { ...result, behindMs: Math.max(...arrivals.map(({ atMs }) => atMs)) - result.endedMs }
  }
}
