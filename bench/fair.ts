import { untilCalm } from './load/cpu.ts'
import { latenciesOf } from './load/latencies.ts'
import { type Receiver, startReceiver } from './load/receiver.ts'
import { type Retries, startRetries } from './load/retries.ts'
import { until } from './load/until.ts'
import { atMost, median, percentile, type Report } from './report.ts'

const HANGING = 'hanging'
const OTHERS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']
/** The rate of each endpoint. */
const PER_SECOND = 30
const SECONDS = 12
const ROUNDS = 3
const SCHEDULE = '0,5s,15s,30s'

/** One of ten endpoints never responds, not even to later attempts. How much slower do the nine others get? */
export async function run(): Promise<Report> {
  await using receiver = await startReceiver()
  await using retries = await startRetries([HANGING, ...OTHERS].map(receiver.url), SCHEDULE)
  await round(receiver, retries)
  const rounds: { alone: number[]; beside: number[] }[] = []
  for (let number = 1; number <= ROUNDS; number++) {
    await untilCalm()
    const alone = await round(receiver, retries)
    await receiver.setBehaviour(HANGING, { hangs: true })
    const beside = await round(receiver, retries)
    await receiver.setBehaviour(HANGING, {})
    await retries.untilDrained()
    await receiver.take()
    rounds.push({ alone, beside })
    const p99 = (latenciesMs: number[]) => percentile(latenciesMs, 0.99).toFixed(1)
    console.log(`round ${number}: p99 ms of nine: ten respond ${p99(alone)}; one hangs ${p99(beside)}`)
  }
  const endCounts = await retries.countEnds()
  console.log(`Dispatches: ${JSON.stringify(endCounts)}; workflows: ${await retries.workflows()}`)
  const middle = (side: 'alone' | 'beside', share: number) =>
    median(rounds.map((round) => percentile(round[side], share)))
  const worse = rounds.map(({ alone, beside }) => percentile(beside, 0.99) / percentile(alone, 0.99))
  return {
    figures: {
      'ten respond: p50 ms': middle('alone', 0.5),
      'ten respond: p99 ms': middle('alone', 0.99),
      'one hangs: p50 ms of the others': middle('beside', 0.5),
      'one hangs: p99 ms of the others': middle('beside', 0.99),
    },
    bars: [atMost('p99 of the others relative to that when all respond', median(worse), 2)],
  }
}

/** Posts events to all ten at the same rate. Returns the milliseconds from due to received of the nine's events. */
async function round(receiver: Receiver, { accountIds, createEvents }: Retries): Promise<number[]> {
  const pace = { events: PER_SECOND * SECONDS, perSecond: PER_SECOND }
  const [hanging, ...others] = accountIds
  const { due } = await createEvents([
    { ...pace, accountIds: [hanging!] },
    ...others.map((accountId) => ({ ...pace, accountIds: [accountId] })),
  ])
  const ofOthers = due.slice(1).flat()
  const arrivals: Awaited<ReturnType<Receiver['take']>> = []
  await until('the events of the others have arrived', async () => {
    arrivals.push(...(await receiver.take()))
    return arrivals.filter(({ endpoint }) => endpoint !== HANGING).length >= ofOthers.length
  })
  return latenciesOf(ofOthers, arrivals)
}
