import { setTimeout as sleep } from 'node:timers/promises'
import { configure } from './load/endpoints.ts'
import { startHttpLoad } from './load/http.ts'
import { startProduct } from './load/product.ts'
import { type Receiver, startReceiver } from './load/receiver.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { until } from './load/until.ts'
import { figuresOf, playPairs, ratio, round } from './pairs.ts'
import { atLeast, type Report, type RunOptions } from './report.ts'

const MESSAGES = 5_000
const BYTES = 4_000
const IN_FLIGHT = 64
/** What is written down after the last receipt. */
const SETTLES_MS = 1_000

/** Sends of an account that has a webhook endpoint, which acknowledges each event, against sends of the same account without one. */
export async function run({ peer }: RunOptions): Promise<Report> {
  if (peer) console.log('This bench has no peer.')
  await using sink = await startSink()
  await using receiver = await startReceiver()
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  const trees = [product.apiPid, product.postgresPid]

  const send = (requests: number) =>
    round(trees, requests, () =>
      http.ask(sendRun(product, { bytes: BYTES, connections: IN_FLIGHT, requests })).then(expectDelivered),
    )
  async function withEndpoint(requests: number) {
    await configure(product, 'PUT', receiver.url('bench'))
    const sent = await send(requests)
    await everyEventArrives(receiver, requests)
    await configure(product, 'DELETE')
    return sent
  }

  await withEndpoint(1_000)
  await send(1_000)
  const pairs = await playPairs(
    () => withEndpoint(MESSAGES),
    () => send(MESSAGES),
    'without an endpoint',
  )
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
    },
    bars: [atLeast('sends/s with an endpoint in terms of those without', ratio(pairs, 'perSecond'), 0.9)],
  }
}

async function everyEventArrives(receiver: Receiver, events: number): Promise<void> {
  await until('post every event', async () => (await receiver.count()) >= events)
  await sleep(SETTLES_MS)
  const { length } = await receiver.take()
  if (length !== events) throw new Error(`${length} posts of ${events} events`)
}
