import { setTimeout as sleep } from 'node:timers/promises'
import { untilCalm } from './load/cpu.ts'
import { latenciesOf } from './load/latencies.ts'
import { type Arrival, type Receiver, startReceiver } from './load/receiver.ts'
import { type Retries, startRetries } from './load/retries.ts'
import { until } from './load/until.ts'
import { atMost, percentile, type Report, type RunOptions } from './report.ts'

const DOWN = Array.from({ length: 1_000 }, (_, i) => `down-${i}`)
const OTHERS = ['one', 'two', 'three', 'four']
const EVENTS = 100_000
const PER_SECOND = 1_000
const OTHERS_PER_SECOND = 50
const ALONE_S = 20
/** How long events of the others are made at a time, until all retries are started. */
const BESIDE_S = 10
/** The second attempts fail, too, and the third ones are far away. */
const SCHEDULE = '0,1s,6h'
const WITHIN_S = 360
const GIVE_UP_MS = 600_000

/**
 * Events that failed one by one at 1,000 endpoints while no worker ran: how long until each has a workflow, and what it
 * does to the first attempts of others. `size` is the number of events.
 */
export async function run({ size = EVENTS }: RunOptions): Promise<Report> {
  await using receiver = await startReceiver()
  for (const endpoint of DOWN) await receiver.setBehaviour(endpoint, { status: 503 })
  await using retries = await startRetries([...DOWN, ...OTHERS].map(receiver.url), SCHEDULE)
  const [down, others] = [retries.accountIds.slice(0, DOWN.length), retries.accountIds.slice(DOWN.length)]
  await retries.createEvents([{ accountIds: down, events: size, perSecond: PER_SECOND }])
  await until('every first attempt has arrived', async () => (await receiver.count()) >= size, GIVE_UP_MS)
  await receiver.take()
  await untilCalm()
  const push = (seconds: number) => pushOthers({ retries, receiver, accountIds: others, seconds })
  const alone = await push(ALONE_S)

  const waiting = await retries.countUnstarted()
  const allStarted = async () => (await retries.countUnstarted()) === 0
  const beganMs = performance.now()
  await retries.startWorker()
  const beside: number[] = []
  let startedMs = Number.NaN
  await Promise.all([
    until('every event has a workflow', allStarted, GIVE_UP_MS, 500).then(() => {
      startedMs = performance.now() - beganMs
    }),
    (async () => {
      do beside.push(...(await push(BESIDE_S)))
      while (Number.isNaN(startedMs))
    })(),
  ])
  const workflows = await retries.workflows()
  const others99 = [alone, beside].map((latenciesMs) => percentile(latenciesMs, 0.99))
  return {
    figures: {
      'events that waited': waiting,
      'all are started after s': startedMs / 1_000,
      workflows,
      'p99 of the others before, ms': others99[0]!,
      'p99 of the others meanwhile, ms': others99[1]!,
    },
    bars: [
      atMost('all are started after s', startedMs / 1_000, WITHIN_S),
      atMost('workflows', workflows, (2 * size) / 50),
      atMost('p99 of the others relative to that before', others99[1]! / others99[0]!, 2),
    ],
  }
}

interface OtherEvents {
  retries: Retries
  receiver: Receiver
  accountIds: string[]
  seconds: number
}

/** Makes events of endpoints that are up, and returns how long each took to arrive, in milliseconds. */
async function pushOthers({ retries, receiver, accountIds, seconds }: OtherEvents): Promise<number[]> {
  const events = OTHERS_PER_SECOND * seconds
  const { due } = await retries.createEvents([{ accountIds, events, perSecond: OTHERS_PER_SECOND }])
  const arrivals: Arrival[] = []
  const ids = new Set(due[0]!.map(([eventId]) => eventId))
  for (let left = ids.size; left > 0; await sleep(200)) {
    const taken = (await receiver.take()).filter(({ eventId }) => ids.has(eventId))
    arrivals.push(...taken)
    left -= taken.length
  }
  return latenciesOf(due[0]!, arrivals)
}
