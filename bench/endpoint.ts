import { calm } from './load/cpu.ts'
import { configure } from './load/endpoints.ts'
import { startHttpLoad } from './load/http.ts'
import { startPosts } from './load/posts.ts'
import { type Product, startProduct } from './load/product.ts'
import { type Receiver, startReceiver } from './load/receiver.ts'
import { expectDelivered, isDelivered, sendBody, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { until } from './load/until.ts'
import { figuresOf, playPairs, ratio, round } from './pairs.ts'
import { atLeast, atMost, median, percentile, type Report, type RunOptions } from './report.ts'

const MESSAGES = 5_000
const WARM_UP_MESSAGES = 1_000
const BYTES = 4_000
const IN_FLIGHT = 64
/** Of sends at half the rate of those without an endpoint. */
const SECONDS = 8
const LATENCY_ROUNDS = 3
const PATIENCE_MS = 8_000

/** Sends of an account that has a webhook endpoint, which acknowledges each event, against sends of the same account without one. */
export async function run({ peer }: RunOptions): Promise<Report> {
  if (peer) console.log('This bench has no peer.')
  await using sink = await startSink()
  await using receiver = await startReceiver()
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  await using posts = await startPosts()

  const full = (requests: number) =>
    round([product.apiPid, product.postgresPid], requests, () =>
      http.ask(sendRun(product, { bytes: BYTES, connections: IN_FLIGHT, requests })).then(expectDelivered),
    )
  const { key, port } = product
  async function timesAt(perSecond: number): Promise<number[]> {
    const pace = { events: perSecond * SECONDS, perSecond }
    const answers = await posts.ask({ port, key, path: '/api/v1/emails/send', bodies: [sendBody(BYTES)], pace })
    if (!answers.every(isDelivered)) throw new Error('Not everything was delivered')
    return answers.map(({ dueMs, answeredMs }) => answeredMs - dueMs)
  }

  const withEndpoint = during(product, receiver)
  await withEndpoint(WARM_UP_MESSAGES, () => full(WARM_UP_MESSAGES))
  await full(WARM_UP_MESSAGES)
  const pairs = await playPairs(
    () => withEndpoint(MESSAGES, () => full(MESSAGES)),
    () => full(MESSAGES),
    'without an endpoint',
  )
  const half = Math.round(median(pairs.map(({ theirs }) => theirs.perSecond)) / 2)
  const slow = await playHalf(
    half,
    () => withEndpoint(half * SECONDS, () => timesAt(half)),
    () => timesAt(half),
  )
  const middle = (side: 'ours' | 'theirs', share: number) => median(slow.map((pair) => percentile(pair[side], share)))
  const longer = slow.map(({ ours, theirs }) => percentile(ours, 0.5) / percentile(theirs, 0.5))
  return {
    figures: {
      ...figuresOf(
        'with an endpoint:',
        pairs.map(({ ours }) => ours),
      ),
      ...figuresOf(
        'without:',
        pairs.map(({ theirs }) => theirs),
      ),
      'half rate, sends/s': half,
      'with an endpoint: p50 ms': middle('ours', 0.5),
      'with an endpoint: p99 ms': middle('ours', 0.99),
      'without: p50 ms': middle('theirs', 0.5),
      'without: p99 ms': middle('theirs', 0.99),
    },
    bars: [
      atLeast('sends/s with an endpoint in terms of those without', ratio(pairs, 'perSecond'), 0.9),
      atMost('p50 at half the rate in terms of that without', median(longer), 1.1),
    ],
  }
}

/** The endpoint is there as long as the work takes, and until each of its events has arrived once. */
function during(product: Product, receiver: Receiver) {
  return async <Result>(events: number, work: () => Promise<Result>): Promise<Result> => {
    await configure(product, 'PUT', receiver.url('bench'))
    const result = await work()
    await until('post every event', async () => (await receiver.count()) >= events)
    await configure(product, 'DELETE')
    const { length } = await receiver.take()
    if (length !== events) throw new Error(`${length} posts of ${events} events`)
    return result
  }
}

async function playHalf(perSecond: number, ours: () => Promise<number[]>, theirs: () => Promise<number[]>) {
  const pairs: { ours: number[]; theirs: number[] }[] = []
  for (let number = 1; number <= LATENCY_ROUNDS; number++) {
    await calm(PATIENCE_MS)
    const pair = { ours: await ours(), theirs: await theirs() }
    pairs.push(pair)
    const p50 = (timesMs: number[]) => percentile(timesMs, 0.5).toFixed(1)
    console.log(`at ${perSecond}/s, p50 ms: with an endpoint ${p50(pair.ours)}; without ${p50(pair.theirs)}`)
  }
  return pairs
}
