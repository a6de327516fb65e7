import { setTimeout as sleep } from 'node:timers/promises'
import { machineMs } from './load/clock.ts'
import { untilCalm } from './load/cpu.ts'
import { latenciesOf } from './load/latencies.ts'
import { type Arrival, type Receiver, startReceiver } from './load/receiver.ts'
import { startRetries } from './load/retries.ts'
import { atLeast, atMost, percentile, type Report } from './report.ts'

const DOWN = 'down'
const OTHERS = ['one', 'two', 'three', 'four']
const EVENTS = 10_000
const PER_SECOND = 1_000
/** The rate of all other endpoints together: before the storm, and from its start until its second attempts. */
const OTHERS_PER_SECOND = 100
const BEFORE_S = 20
const MEANWHILE_S = 60
/** The storm's first attempts end within the first delay, so the endpoint is back for the second attempts. */
const SCHEDULE = '0,30s,30s,30s'
const POLL_INTERVAL_MS = 200

/** 10,000 events to an endpoint that is down until their second attempts, beside events to endpoints that are up. */
export async function run(): Promise<Report> {
  await using receiver = await startReceiver()
  await using retries = await startRetries([DOWN, ...OTHERS].map(receiver.url), SCHEDULE)
  await retries.startWorker()
  const [down, ...others] = retries.accountIds
  const eventsOfOthers = (seconds: number) => ({
    accountIds: others,
    events: OTHERS_PER_SECOND * seconds,
    perSecond: OTHERS_PER_SECOND,
  })
  await untilCalm()
  const before = await retries.createEvents([eventsOfOthers(BEFORE_S)])
  await retries.untilDrained()
  const alone = latenciesOf(before.due.flat(), await receiver.take())

  await receiver.setBehaviour(DOWN, { status: 503 })
  const arrivals: Arrival[] = []
  const [{ due }, backMs] = await Promise.all([
    retries.createEvents([{ accountIds: [down!], events: EVENTS, perSecond: PER_SECOND }, eventsOfOthers(MEANWHILE_S)]),
    bringBack(receiver, arrivals),
  ])
  await retries.untilDrained()
  arrivals.push(...(await receiver.take()))
  const beside = latenciesOf(due[1]!, arrivals)
  const second = arrivals.filter(({ endpoint, status }) => endpoint === DOWN && status === 200).map(({ atMs }) => atMs)
  const workedMs = second.at(-1)! - Math.max(backMs, second[0]!)
  const { acknowledged, otherwise } = await retries.countEnds()
  const workflows = await retries.workflows()
  const others99 = [alone, beside].map((latenciesMs) => percentile(latenciesMs, 0.99))
  return {
    figures: {
      'down for s': (backMs - due[0]![0]![1]) / 1_000,
      'posts to the endpoint': arrivals.filter(({ endpoint }) => endpoint === DOWN).length,
      'posts it acknowledged': second.length,
      'work after it is back, s': workedMs / 1_000,
      workflows,
      'p99 of the others before, ms': others99[0]!,
      'p99 of the others meanwhile, ms': others99[1]!,
    },
    bars: [
      atLeast('acknowledged', acknowledged, before.due.flat().length + due.flat().length),
      atMost('ended otherwise', otherwise, 0),
      atMost('workflows', workflows, 250),
      atMost('work after it is back, s', workedMs / 1_000, 60),
      atMost('p99 of the others relative to that before', others99[1]! / others99[0]!, 2),
    ],
  }
}

/** Brings the endpoint back once every event has arrived once. Returns when. */
async function bringBack(receiver: Receiver, arrivals: Arrival[]): Promise<number> {
  const posted = new Set<string>()
  for (; posted.size < EVENTS; await sleep(POLL_INTERVAL_MS)) {
    const taken = await receiver.take()
    arrivals.push(...taken)
    for (const { endpoint, eventId } of taken) if (endpoint === DOWN) posted.add(eventId)
  }
  await receiver.setBehaviour(DOWN, {})
  return machineMs()
}
