import { calm } from './load/cpu.ts'
import { latenciesOf } from './load/latencies.ts'
import { type Receiver, startReceiver } from './load/receiver.ts'
import { type Retries, startRetries } from './load/retries.ts'
import { until } from './load/until.ts'
import { atMost, median, percentile, type Report, type RunOptions } from './report.ts'

const HANGING = 'hanging'
const OTHERS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']
/** Of every endpoint. */
const PER_SECOND = 30
const SECONDS = 12
const ROUNDS = 3
const SCHEDULE = '0,5s,15s,30s'
const PATIENCE_MS = 8_000

/** One of ten endpoints never answers, at its first attempts and at those that follow: what the nine others notice of it. */
export async function run({ peer }: RunOptions): Promise<Report> {
  if (peer) console.log('This bench has no peer.')
  await using receiver = await startReceiver()
  await using retries = await startRetries([HANGING, ...OTHERS].map(receiver.url), SCHEDULE)
  await round(receiver, retries)
  const rounds: { alone: number[]; beside: number[] }[] = []
  for (let number = 1; number <= ROUNDS; number++) {
    await calm(PATIENCE_MS)
    const alone = await round(receiver, retries)
    await receiver.behave(HANGING, { hangs: true })
    const beside = await round(receiver, retries)
    await receiver.behave(HANGING, {})
    await retries.drained()
    await receiver.take()
    rounds.push({ alone, beside })
    const p99 = (latenciesMs: number[]) => percentile(latenciesMs, 0.99).toFixed(1)
    console.log(`round ${number}: p99 ms of nine: ten answer ${p99(alone)}; one hangs ${p99(beside)}`)
  }
  const ends = await retries.ends()
  console.log(`Dispatches: ${JSON.stringify(ends)}; workflows: ${await retries.workflows()}`)
  const middle = (side: 'alone' | 'beside', share: number) =>
    median(rounds.map((round) => percentile(round[side], share)))
  const worse = rounds.map(({ alone, beside }) => percentile(beside, 0.99) / percentile(alone, 0.99))
  return {
    figures: {
      'ten answer: p50 ms': middle('alone', 0.5),
      'ten answer: p99 ms': middle('alone', 0.99),
      'one hangs: p50 ms of the others': middle('beside', 0.5),
      'one hangs: p99 ms of the others': middle('beside', 0.99),
    },
    bars: [atMost('p99 of the others in terms of that when all answer', median(worse), 2)],
  }
}

/** Events of all ten at the same rate. Gives what passed from when those of the nine were due to be committed to their receipt. */
async function round(receiver: Receiver, { accountIds, make }: Retries): Promise<number[]> {
  const pace = { events: PER_SECOND * SECONDS, perSecond: PER_SECOND }
  const [hanging, ...others] = accountIds
  const { due } = await make([
    { ...pace, accountIds: [hanging!] },
    ...others.map((accountId) => ({ ...pace, accountIds: [accountId] })),
  ])
  const ofOthers = due.slice(1).flat()
  const arrivals: Awaited<ReturnType<Receiver['take']>> = []
  await until('post the events of the others', async () => {
    arrivals.push(...(await receiver.take()))
    return arrivals.filter(({ endpoint }) => endpoint !== HANGING).length >= ofOthers.length
  })
  return latenciesOf(ofOthers, arrivals)
}
