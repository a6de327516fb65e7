import { measure, untilCalm } from './load/cpu.ts'
import { startEngine } from './load/engine.ts'
import { startHttpLoad } from './load/http.ts'
import { ping } from './load/ping.ts'
import { startProduct } from './load/product.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { type Sink, startSink } from './load/sink.ts'
import { atLeast, atMost, median, percentile, type Report } from './report.ts'

const RTT_MS = 50
const IN_FLIGHT = 8

/** A mail server 50 ms away: how often a send waits for it, and how much time we add. */
export async function run(): Promise<Report> {
  await using sink = await startSink({ rttMs: RTT_MS })
  const engine = await engineAlone(sink)
  const product = await wholeSends(sink)
  return {
    figures: { ...engine, ...product },
    bars: [
      atLeast('round trips on a reused connection', engine['round trips of the engine'], 2),
      atMost('round trips on a reused connection', engine['round trips of the engine'], 2.2),
      atMost('own share of a send, p50 ms', product['own share p50 ms'], 10),
    ],
  }
}

/** Sends one message after another. Measures from the signed message to its outcome, without building and signing. */
async function engineAlone(sink: Sink) {
  await using engine = await startEngine(sink.port)
  await engine.ask({ messages: 2, inFlight: 1 })
  const [timesMs, rttMs] = await Promise.all([engine.ask({ messages: 80, inFlight: 1 }), ping(sink.port, 160)])
  const trips = Math.round((median(timesMs) / rttMs) * 100) / 100
  return { 'measured round trip ms': rttMs, 'engine p50 ms': median(timesMs), 'round trips of the engine': trips }
}

/** Our own share is the time not spent waiting for the mail server: HTTP, processor, database (the marker too). */
async function wholeSends(sink: Sink) {
  await using product = await startProduct(sink)
  await using http = await startHttpLoad()
  const send = (requests: number) =>
    http.ask(sendRun(product, { connections: IN_FLIGHT, requests })).then(expectDelivered)
  await send(200)
  await untilCalm()
  const { result, foreign } = await measure([], () => Promise.all([send(600), ping(sink.port, 140)]))
  console.log(`Other work took ${(foreign * 100).toFixed(0)} % of the processors meanwhile.`)
  const [{ latenciesMs }, rttMs] = result
  return {
    'send p50 ms': median(latenciesMs),
    'send p99 ms': percentile(latenciesMs, 0.99),
    'own share p50 ms': median(latenciesMs) - 2 * rttMs,
    'own share p99 ms': percentile(latenciesMs, 0.99) - 2 * rttMs,
  }
}
