import { join, resolve } from 'node:path'
import { configure } from './load/endpoints.ts'
import { startHttpLoad } from './load/http.ts'
import { startProduct } from './load/product.ts'
import { startReceiver } from './load/receiver.ts'
import { startSink } from './load/sink.ts'
import { sendsOf } from './load/timed-sends.ts'
import { until } from './load/until.ts'
import { playPairs, ratio } from './pairs.ts'

const other: { startProduct: typeof startProduct } = await import(join(resolve(process.argv[2]!), 'bench/load/product.ts'))
await using sink = await startSink()
await using http = await startHttpLoad()
await using receiver = await startReceiver()
await using product = await startProduct(sink)
await using peer = await other.startProduct(sink)
for (const side of [product, peer]) await configure(side, 'PUT', receiver.url(side === product ? 'ours' : 'theirs'))
const side = (one: typeof product) => {
  const send = sendsOf(one, http, 4_000)
  return async (inFlight: number, requests: number) => {
    const result = await send({ inFlight, requests })
    await until('every event has arrived', async () => (await receiver.count()) >= requests)
    await receiver.take()
    return result
  }
}
const [ours, theirs] = [side(product), side(peer)]
for (const send of [ours, theirs]) await send(64, 10_000)
for (const [inFlight, requests] of [[64, 3_000], [4, 800], [1, 300]] as const) {
  const pairs = await playPairs(() => ours(inFlight, requests), () => theirs(inFlight, requests), 'without priority', 13)
  for (const figure of ['perSecond', 'cpuMicros', 'p50Ms', 'p99Ms'] as const) console.log('PRIORITY', inFlight, figure, ratio(pairs, figure).toFixed(3))
}
