import { untilCalm } from './load/cpu.ts'
import { startHttpLoad } from './load/http.ts'
import { ping } from './load/ping.ts'
import { startProduct } from './load/product.ts'
import { startReceiver } from './load/receiver.ts'
import { startSink } from './load/sink.ts'
import { type SendRound, sendsOf } from './load/timed-sends.ts'
import { atMost, median, type Report } from './report.ts'
import { startFirstAttemptsBench } from './webhooks.ts'

const ROUNDS = 5
/** Sends in flight, and the sends of a round. */
const LOADS = [
  { inFlight: 1, requests: 400 },
  { inFlight: 4, requests: 1_200 },
  { inFlight: 8, requests: 1_600 },
  { inFlight: 64, requests: 4_000 },
]
/** A mail server this far away leaves the processors to us, so that the rest of a send's time is our own. */
const FAR_MS = 50
const FAR = { inFlight: 8, requests: 400, to: 'b@others.test' }
/** Half of the rate that Outpost reached here: see webhooks.ts. */
const EVENTS_PER_SECOND = 771
const EVENT_SECONDS = 8
const FULL_EVENTS = 8_000
const OPEN_EVENTS = 1_024

/** The cost of a send and of a first webhook attempt when a machine is not full. */
export async function run(): Promise<Report> {
  const sends = await measureSends()
  const posts = await measurePosts()
  return { figures: { ...sends.figures, ...posts.figures }, bars: [...sends.bars, ...posts.bars] }
}

async function measureSends(): Promise<Report> {
  await using sink = await startSink()
  await using far = await startSink({ rttMs: FAR_MS })
  await using product = await startProduct(sink, { others: far })
  await using http = await startHttpLoad()
  const send = sendsOf(product, http)
  const rounds = new Map(LOADS.map(({ inFlight }) => [inFlight, [] as SendRound[]]))
  const own = { p50: [] as number[], p99: [] as number[] }
  await send({ inFlight: 64, requests: 3_000 })
  await send(FAR)
  for (let number = 1; number <= ROUNDS; number++) {
    for (const load of number % 2 === 0 ? LOADS : LOADS.toReversed()) {
      await untilCalm()
      const round = await send(load)
      rounds.get(load.inFlight)!.push(round)
      const { p50Ms, cpuMicros, foreign } = round
      const other = `${(foreign * 100).toFixed(0)} % foreign`
      console.log(
        `round ${number}, ${load.inFlight} in flight: ${cpuMicros.toFixed(0)} us, p50 ${p50Ms.toFixed(1)} ms (${other})`,
      )
    }
    // Connections that were idle for a round have been closed, and opening one takes three round trips.
    await send({ ...FAR, requests: 2 * FAR.inFlight })
    const [{ p50Ms, p99Ms }, rttMs] = await Promise.all([send(FAR), ping(far.port, 40)])
    own.p50.push(p50Ms - 2 * rttMs)
    own.p99.push(p99Ms - 2 * rttMs)
  }
  const figures = Object.fromEntries([...rounds].flatMap(([inFlight, all]) => figuresOf(`${inFlight} in flight`, all)))
  const [p50, p99] = [median(own.p50), median(own.p99)]
  const relative = (inFlight: number, to: number, figure: keyof SendRound) =>
    median(rounds.get(inFlight)!.map((round, i) => round[figure] / rounds.get(to)![i]![figure]))
  return {
    figures: { ...figures, 'own share, 8 in flight: p50 ms': p50, 'own share, 8 in flight: p99 ms': p99 },
    bars: [
      atMost('CPU of a send alone relative to 64 in flight', relative(1, 64, 'cpuMicros'), 1.5),
      atMost('CPU of a send, 4 in flight, relative to 64', relative(4, 64, 'cpuMicros'), 1.5),
      atMost('p50, 4 in flight, relative to alone', relative(4, 1, 'p50Ms'), 1.3),
      atMost('own share of a send, 8 in flight, p50 ms', p50, 3),
      atMost('own share of a send, 8 in flight, p99 ms', p99, 8),
    ],
  }
}

function figuresOf(name: string, rounds: readonly SendRound[]): [string, number][] {
  const middle = (figure: keyof SendRound) => median(rounds.map((round) => round[figure]))
  return [
    [`${name}: sends/s`, middle('perSecond')],
    [`${name}: CPU us`, middle('cpuMicros')],
    [`${name}: API CPU us`, middle('apiCpuMicros')],
    [`${name}: PostgreSQL CPU us`, middle('postgresCpuMicros')],
    [`${name}: p50 ms`, middle('p50Ms')],
    [`${name}: p99 ms`, middle('p99Ms')],
  ]
}

/** First attempts at half of Outpost's rate and at full load. */
async function measurePosts(): Promise<Report> {
  await using receiver = await startReceiver()
  await using attempts = await startFirstAttemptsBench(receiver)
  await attempts.post({ events: FULL_EVENTS, open: OPEN_EVENTS })
  const micros = { half: [] as number[], full: [] as number[] }
  for (let number = 1; number <= ROUNDS; number++) {
    await untilCalm()
    const events = EVENTS_PER_SECOND * EVENT_SECONDS
    const half = await attempts.post({ events, perSecond: EVENTS_PER_SECOND })
    const full = await attempts.post({ events: FULL_EVENTS, open: OPEN_EVENTS })
    micros.half.push(half.cpuMicros)
    micros.full.push(full.cpuMicros)
    console.log(`round ${number}: ${half.cpuMicros.toFixed(0)} us an event, ${full.cpuMicros.toFixed(0)} at full load`)
  }
  const atHalf = `first attempt at ${EVENTS_PER_SECOND} events/s: CPU us`
  return {
    figures: { [atHalf]: median(micros.half), 'first attempt at full load: CPU us': median(micros.full) },
    bars: [atMost(atHalf, median(micros.half), 600)],
  }
}
