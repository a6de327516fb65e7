import { setTimeout as sleep } from 'node:timers/promises'
import { machineMs } from './load/clock.ts'
import { calm } from './load/cpu.ts'
import { latenciesOf } from './load/latencies.ts'
import { type Arrival, type Receiver, startReceiver } from './load/receiver.ts'
import { startRetries } from './load/retries.ts'
import { atLeast, atMost, percentile, type Report, type RunOptions } from './report.ts'

const DOWN = 'down'
const OTHERS = ['one', 'two', 'three', 'four']
const EVENTS = 10_000
const PER_SECOND = 1_000
/** Of all the others together: before the storm, and from its beginning to where its second attempts are made. */
const OTHERS_PER_SECOND = 100
const BEFORE_S = 20
const MEANWHILE_S = 60
/** First attempts of the storm are over within the first of these delays, so that the endpoint is back at the second. */
const SCHEDULE = '0,30s,30s,30s'
const PATIENCE_MS = 10_000
const LOOKS_EVERY_MS = 200

/** 10,000 events to an endpoint that is down and comes back for their second attempts, beside events to others that are up. */
export async function run({ peer }: RunOptions): Promise<Report> {
  if (peer) console.log('This bench has no peer.')
  await using receiver = await startReceiver()
  await using retries = await startRetries([DOWN, ...OTHERS].map(receiver.url), SCHEDULE)
  const [down, ...others] = retries.accountIds
  const toOthers = (seconds: number) => ({
    accountIds: others,
    events: OTHERS_PER_SECOND * seconds,
    perSecond: OTHERS_PER_SECOND,
  })
  await calm(PATIENCE_MS)
  const before = await retries.make([toOthers(BEFORE_S)])
  await retries.drained()
  const alone = latenciesOf(before.due.flat(), await receiver.take())

  await receiver.behave(DOWN, { status: 503 })
  const arrivals: Arrival[] = []
  const [{ due }, backMs] = await Promise.all([
    retries.make([{ accountIds: [down!], events: EVENTS, perSecond: PER_SECOND }, toOthers(MEANWHILE_S)]),
    comesBack(receiver, arrivals),
  ])
  await retries.drained()
  arrivals.push(...(await receiver.take()))
  const beside = latenciesOf(due[1]!, arrivals)
  const second = arrivals.filter(({ endpoint, status }) => endpoint === DOWN && status === 200).map(({ atMs }) => atMs)
  const workedMs = second.at(-1)! - Math.max(backMs, second[0]!)
  const { acknowledged, otherwise } = await retries.ends()
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
      atMost('p99 of the others in terms of that before', others99[1]! / others99[0]!, 2),
    ],
  }
}

/** The endpoint is back as soon as everything has come once. Gives when. */
async function comesBack(receiver: Receiver, arrivals: Arrival[]): Promise<number> {
  const posted = new Set<string>()
  for (; posted.size < EVENTS; await sleep(LOOKS_EVERY_MS)) {
    const taken = await receiver.take()
    arrivals.push(...taken)
    for (const { endpoint, eventId } of taken) if (endpoint === DOWN) posted.add(eventId)
  }
  await receiver.behave(DOWN, {})
  return machineMs()
}
