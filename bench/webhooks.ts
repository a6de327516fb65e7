import { applyMigrations } from '../server/db/migrations.ts'
import { type Measured, measure, untilCalm } from './load/cpu.ts'
import { startDatabase } from './load/database.ts'
import { createEndpoints } from './load/endpoints.ts'
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
/** How many events of ours are open: committed, and their first attempt has not ended. */
const OPEN = 1_024
/** How many publishes to Outpost are open. More make it no faster. */
const PUBLISHES = 64
/** How long events are posted at half of Outpost's rate. */
const SECONDS = 13
const LATENCY_ROUNDS = 3

/** One round of one side. */
interface PostRound extends Round {
  /** From when each event was due to be committed or published to its receipt. */
  latenciesMs: number[]
}

type Post = (pace: Pace) => Promise<PostRound>

/** First attempts, from the commit of an event to its stored 200, against what Outpost posts to the same receiver. */
export async function run({ peer }: RunOptions): Promise<Report> {
  await using receiver = await startReceiver()
  await using product = await startFirstAttemptsBench(receiver)
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
      atLeast("first attempts/s relative to Outpost's", ratio(pairs, 'perSecond'), 2),
      atMost("CPU per event relative to Outpost's", ratio(pairs, 'cpuMicros'), 0.5),
      atMost("p99 at half rate relative to Outpost's", median(slow.map(p99Ratio)), 1),
    ],
  }
}

/** Starts what makes first attempts, and a database for it. */
export async function startFirstAttemptsBench(receiver: Receiver) {
  await using parts = new AsyncDisposableStack()
  const database = parts.use(await startDatabase())
  await applyMigrations(database.url)
  const storage = { databaseUrl: database.url, encryptionKeys: newEncryptionKeys() }
  const accountIds = await createEndpoints(storage, [receiver.url('ours')])
  const worker = parts.use(await startFirstAttempts(storage))
  const started = parts.move()
  const post: Post = async (pace) => {
    const measured = await measure([[worker.pid, database.pid]], async () => {
      const events = await worker.ask([{ ...pace, accountIds }])
      await until('every event has arrived', async () => (await receiver.count()) >= pace.events)
      return events
    })
    const { due, endMs } = measured.result
    return roundOfPosts(measured, due[0]!, await receiver.take(), endMs)
  }
  return { post, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

async function startTheirs(receiver: Receiver) {
  const outpost = await startOutpost(receiver)
  const post: Post = async (pace) => {
    const measured = await measure([outpost.pids], () => outpost.publish(pace))
    return roundOfPosts(measured, measured.result, await receiver.take())
  }
  return { post, [Symbol.asyncDispose]: () => outpost[Symbol.asyncDispose]() }
}

/** The rate is counted until `endMs` or the last receipt: Outpost stores its attempts a second at a time. */
function roundOfPosts(
  measured: Measured<unknown>,
  due: [string, number][],
  arrivals: Arrival[],
  endMs?: number,
): PostRound {
  const dueAt = new Map(due)
  const receivedAt = new Map(arrivals.map(({ eventId, atMs }) => [eventId, atMs]))
  if (due.some(([eventId]) => !receivedAt.has(eventId))) throw new Error('Not every event was received')
  if (arrivals.length > due.length) console.log(`${arrivals.length - due.length} of ${due.length} arrived twice`)
  return {
    ...roundOf(measured, due.length),
    perSecond: (due.length * 1_000) / ((endMs ?? Math.max(...receivedAt.values())) - due[0]![1]),
    latenciesMs: [...dueAt].map(([eventId, dueMs]) => receivedAt.get(eventId)! - dueMs),
  }
}

async function playHalf(
  ours: Post,
  theirs: Post,
  perSecond: number,
): Promise<{ ours: PostRound; theirs: PostRound }[]> {
  const pace = { events: perSecond * SECONDS, perSecond }
  const pairs = []
  for (let round = 1; round <= LATENCY_ROUNDS; round++) {
    await untilCalm()
    const pair = { theirs: await theirs(pace), ours: await ours(pace) }
    pairs.push(pair)
    const p99 = ({ latenciesMs }: PostRound) => percentile(latenciesMs, 0.99).toFixed(1)
    console.log(`at ${perSecond}/s, p99 ms: ours ${p99(pair.ours)}; Outpost ${p99(pair.theirs)}`)
  }
  return pairs
}

const p99Ratio = ({ ours, theirs }: { ours: PostRound; theirs: PostRound }) =>
  percentile(ours.latenciesMs, 0.99) / percentile(theirs.latenciesMs, 0.99)

function figuresAtHalf(name: string, rounds: readonly PostRound[]): Record<string, number> {
  return {
    [`${name} p50 ms`]: median(rounds.map(({ latenciesMs }) => percentile(latenciesMs, 0.5))),
    [`${name} p99 ms`]: median(rounds.map(({ latenciesMs }) => percentile(latenciesMs, 0.99))),
    [`${name} CPU us per event`]: median(rounds.map(({ cpuMicros }) => cpuMicros)),
  }
}
