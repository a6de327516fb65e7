import { applyMigrations } from '../server/db/migrations.ts'
import { calm, type Measured, measure } from './load/cpu.ts'
import { startDatabase } from './load/database.ts'
import { makeEndpoints } from './load/endpoints.ts'
import { startFirstAttempts } from './load/first-attempts.ts'
import { startOutpost } from './load/outpost.ts'
import type { Pace } from './load/pace.ts'
import { newEncryptionKeys } from './load/product.ts'
import { type Arrival, type Receiver, startReceiver } from './load/receiver.ts'
import { until } from './load/until.ts'
import { describe, figuresOf, playPairs, type Round, ratio, roundOf } from './pairs.ts'
import { atLeast, atMost, median, percentile, type Report, type RunOptions } from './report.ts'

const EVENTS = 10_000
const WARM_UP_EVENTS = 2_000
/** Events of ours between their commit and the end of their first attempt. */
const OPEN = 256
/** Publishes to Outpost at a time: it is no faster with more. */
const PUBLISHES = 64
/** Of events at half of Outpost's rate. */
const SECONDS = 13
const LATENCY_ROUNDS = 3
const PATIENCE_MS = 8_000

/** Events as they were posted by one side. */
interface Posted extends Round {
  /** From when each was due to be committed or published to its receipt. */
  latenciesMs: number[]
}

type Post = (pace: Pace) => Promise<Posted>

/** First attempts, from the commit of an event to its 200 written down, against what Outpost posts to the same receiver. */
export async function run({ peer }: RunOptions): Promise<Report> {
  await using receiver = await startReceiver()
  await using product = await startOurs(receiver)
  await product.post({ events: WARM_UP_EVENTS, open: OPEN })
  const full = () => product.post({ events: EVENTS, open: OPEN })
  if (!peer) {
    const alone = await full()
    console.log(`first attempts ${describe(alone)}`)
    console.log('Without --peer nothing was compared: the bars are ratios to Outpost and were not judged.')
    return { figures: figuresOf('first attempts:', [alone]), bars: [] }
  }
  await using outpost = await startTheirs(receiver)
  await outpost.post({ events: WARM_UP_EVENTS, open: PUBLISHES })
  const pairs = await playPairs(full, () => outpost.post({ events: EVENTS, open: PUBLISHES }), 'Outpost')
  const half = Math.round(median(pairs.map(({ theirs }) => theirs.perSecond)) / 2)
  const slow = await playHalf(product.post, outpost.post, half)
  return {
    figures: {
      ...figuresOf(
        'first attempts:',
        pairs.map(({ ours }) => ours),
      ),
      ...figuresOf(
        'Outpost:',
        pairs.map(({ theirs }) => theirs),
      ),
      'half rate, events/s': half,
      ...figuresAtHalf(
        'first attempts',
        slow.map(({ ours }) => ours),
      ),
      ...figuresAtHalf(
        'Outpost',
        slow.map(({ theirs }) => theirs),
      ),
    },
    bars: [
      atLeast("first attempts/s in terms of Outpost's", ratio(pairs, 'perSecond'), 2),
      atMost("CPU per event in terms of Outpost's", ratio(pairs, 'cpuMicros'), 0.5),
      atMost("p99 at half rate in terms of Outpost's", median(slow.map(p99Ratio)), 1),
    ],
  }
}

async function startOurs(receiver: Receiver) {
  await using parts = new AsyncDisposableStack()
  const database = parts.use(await startDatabase())
  await applyMigrations(database.url)
  const place = { databaseUrl: database.url, encryptionKeys: newEncryptionKeys() }
  const accountIds = await makeEndpoints(place, [receiver.url('ours')])
  const worker = parts.use(await startFirstAttempts(place))
  const started = parts.move()
  const post: Post = async (pace) => {
    const measured = await measure([[worker.pid, database.pid]], async () => {
      const made = await worker.ask([{ ...pace, accountIds }])
      await until('receive every event', async () => (await receiver.count()) >= pace.events)
      return made
    })
    const { due, endMs } = measured.result
    return posted(measured, due[0]!, await receiver.take(), endMs)
  }
  return { post, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

async function startTheirs(receiver: Receiver) {
  const outpost = await startOutpost(receiver)
  const post: Post = async (pace) => {
    const measured = await measure([outpost.pids], () => outpost.publish(pace))
    return posted(measured, measured.result, await receiver.take())
  }
  return { post, [Symbol.asyncDispose]: () => outpost[Symbol.asyncDispose]() }
}

/** The rate is counted to `endMs`, or to the last receipt: Outpost writes its attempts down a second at a time. */
function posted(measured: Measured<unknown>, due: [string, number][], arrivals: Arrival[], endMs?: number): Posted {
  const dueAt = new Map(due)
  const receivedAt = new Map(arrivals.map(({ eventId, atMs }) => [eventId, atMs]))
  if (due.some(([eventId]) => !receivedAt.has(eventId))) throw new Error('Not everything was received')
  if (arrivals.length > due.length) console.log(`${arrivals.length - due.length} of ${due.length} came twice`)
  return {
    ...roundOf(measured, due.length),
    perSecond: (due.length * 1_000) / ((endMs ?? Math.max(...receivedAt.values())) - due[0]![1]),
    latenciesMs: [...dueAt].map(([eventId, dueMs]) => receivedAt.get(eventId)! - dueMs),
  }
}

async function playHalf(ours: Post, theirs: Post, perSecond: number): Promise<{ ours: Posted; theirs: Posted }[]> {
  const pace = { events: perSecond * SECONDS, perSecond }
  const pairs = []
  for (let round = 1; round <= LATENCY_ROUNDS; round++) {
    await calm(PATIENCE_MS)
    const pair = { theirs: await theirs(pace), ours: await ours(pace) }
    pairs.push(pair)
    const p99 = ({ latenciesMs }: Posted) => percentile(latenciesMs, 0.99).toFixed(1)
    console.log(`at ${perSecond}/s, p99 ms: ours ${p99(pair.ours)}; Outpost ${p99(pair.theirs)}`)
  }
  return pairs
}

const p99Ratio = ({ ours, theirs }: { ours: Posted; theirs: Posted }) =>
  percentile(ours.latenciesMs, 0.99) / percentile(theirs.latenciesMs, 0.99)

function figuresAtHalf(name: string, rounds: readonly Posted[]): Record<string, number> {
  return {
    [`${name} p50 ms`]: median(rounds.map(({ latenciesMs }) => percentile(latenciesMs, 0.5))),
    [`${name} p99 ms`]: median(rounds.map(({ latenciesMs }) => percentile(latenciesMs, 0.99))),
    [`${name} CPU us per event`]: median(rounds.map(({ cpuMicros }) => cpuMicros)),
  }
}
