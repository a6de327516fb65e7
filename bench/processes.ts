import { setTimeout as sleep } from 'node:timers/promises'
import { measure, untilCalm } from './load/cpu.ts'
import { startHttpLoad } from './load/http.ts'
import { type Product, startProduct } from './load/product.ts'
import { residentOf } from './load/resident.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { type StatementName, type Watched, watchStatements } from './load/statements.ts'
import { type Round, roundOf } from './pairs.ts'
import { atLeast, atMost, median, percentile, type Report } from './report.ts'

const PROCESSES = [1, 2, 4, 8]
const IN_FLIGHT = 64
const REQUESTS = 3_000
const WARM_UP_REQUESTS = 8_000
const ROUNDS = 5
/** From the start of the processes until they have loaded and compiled. */
const IDLE_MS = 15_000

type ProcessRound = Round & Omit<Watched, 'waits'> & { p99Ms: number }

/**
 * Sends over 1, 2, 4 and 8 API processes on one database, with the same number in flight in all: the rate, the times of
 * the statements and the waits for locks. All processes run all the time; the others are idle.
 */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink, { nodes: Math.max(...PROCESSES), preload: 'pg_stat_statements' })
  await using http = await startHttpLoad()
  await using database = await watchStatements(product)

  async function send(processes: number, requests: number): Promise<ProcessRound> {
    const port = product.ports.slice(0, processes)
    const run = { ...sendRun(product, { connections: IN_FLIGHT, requests }), port }
    const trees = [[...product.apiPids, product.postgresPid]]
    const { result: measured, waits, ...watched } = await database.watch(() => measure(trees, () => http.ask(run)))
    const { latenciesMs } = expectDelivered(measured.result)
    const round = { ...roundOf(measured, requests), ...watched, p99Ms: percentile(latenciesMs, 0.99) }
    console.log(`${processes} processes: ${describe(round)}; active sessions: ${describeWaits(waits)}`)
    return round
  }

  const idle = await measureIdle(product)
  await send(Math.max(...PROCESSES), WARM_UP_REQUESTS)
  const rounds = new Map(PROCESSES.map((processes) => [processes, [] as ProcessRound[]]))
  for (let number = 1; number <= ROUNDS; number++) {
    for (const processes of number % 2 === 0 ? PROCESSES : PROCESSES.toReversed()) {
      await untilCalm()
      rounds.get(processes)!.push(await send(processes, REQUESTS))
    }
  }
  const { figures, bars } = report(rounds)
  return { figures: { ...idle, ...figures }, bars: [atMost(RESIDENT, idle[RESIDENT]!, 200), ...bars] }
}

const RESIDENT = 'idle process: resident MB'

/** The memory of processes that have done nothing yet. */
async function measureIdle({ apiPids }: Product): Promise<Record<string, number>> {
  await sleep(IDLE_MS)
  const all = apiPids.map(residentOf)
  return {
    [RESIDENT]: median(all.map(({ residentMb }) => residentMb)),
    'idle process: MB without what others share': median(all.map(({ ownMb }) => ownMb)),
  }
}

function report(rounds: ReadonlyMap<number, readonly ProcessRound[]>): Report {
  const { figures, bars }: Report = { figures: {}, bars: [] }
  const alone = rounds.get(1)!
  for (const [processes, all] of rounds) {
    const name = (figure: string) => `${processes} processes: ${figure}`
    const middle = (of: (round: ProcessRound) => number) => median(all.map(of))
    const relative = (of: (round: ProcessRound) => number) => median(all.map((round, i) => of(round) / of(alone[i]!)))
    figures[name('sends/s')] = middle(({ perSecond }) => perSecond)
    figures[name('CPU us')] = middle(({ cpuMicros }) => cpuMicros)
    figures[name('p99 ms')] = middle(({ p99Ms }) => p99Ms)
    for (const statement of Object.keys(alone[0]!.statements) as StatementName[]) {
      const meanMs = ({ statements }: ProcessRound) => statements[statement].meanMs
      figures[name(`${statement} ms`)] = middle(meanMs)
      figures[name(`${statement}, sends a statement`)] = middle(
        ({ statements }) => REQUESTS / statements[statement].calls,
      )
      if (processes > 1) bars.push(atMost(name(`${statement} relative to one process`), relative(meanMs), processes))
    }
    const calls = all.flatMap(({ statements }) => Object.values(statements)).reduce((sum, { calls }) => sum + calls, 0)
    const waits = all.flatMap(({ lockWaitsMs }) => lockWaitsMs)
    figures[name('longest wait for a lock, ms (0: under 10)')] = Math.max(0, ...waits)
    bars.push(atMost(name('share of statements that wait over 10 ms for a lock'), waits.length / calls, 0.01))
    if (processes === 2)
      bars.push(
        atLeast(
          name('sends/s relative to one process'),
          relative((r) => r.perSecond),
          1,
        ),
      )
  }
  return { figures, bars }
}

function describe({ perSecond, cpuMicros, statements, lockWaitsMs }: ProcessRound): string {
  const times = Object.entries(statements).map(([name, { meanMs }]) => `${name} ${meanMs.toFixed(2)}`)
  return `${perSecond.toFixed(0)}/s, ${cpuMicros.toFixed(0)} us; ms: ${times.join(', ')}; ${lockWaitsMs.length} long lock waits`
}

function describeWaits(waits: Watched['waits']): string {
  const first = Object.entries(waits).slice(0, 4)
  return first.map(([event, share]) => `${event} ${(share * 100).toFixed(0)} %`).join(', ')
}
