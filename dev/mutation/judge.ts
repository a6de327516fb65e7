import { readFileSync } from 'node:fs'
import type { Load } from './hooks.ts'
import { dependentsOf, importsOf } from './imports.ts'
import { type Mutant, mutate } from './mutants.ts'
import type { TestRun, TestRuns } from './test-runs.ts'

// Judges mutants: each one runs the tests that reach it until one is red. The fastest come first, and those
// that killed others of its file. Slow tests run for the survivors of the quick ones, in the second half of the time:
// the share that they kill is taken for those that they did not meet. They mostly wait, so several mutants run side by
// side.

export interface MutantJudgement extends Mutant {
  verdict: 'killed' | 'timed out' | 'survived'
  /** The first red test. A survivor has none, because its tests are green or because no test reaches it. */
  by?: string
  isReached: boolean
  /** A survivor of the quick tests that no slow test met, because the time was over. */
  isOpen?: true
  /** A slow test killed it. */
  isLate?: boolean
}

/** What a test file does without a mutant. */
interface Baseline {
  test: string
  durationMs: number
  reached: Record<string, [start: number, end: number, count: number][]>
}

/** A mutant may be slower than its tests, and the machine busier than before. */
const limitOf = ({ durationMs }: Baseline) => 5_000 + 4 * durationMs

/** A test file that takes longer is slow: most waits for time to pass. */
const QUICK_MS = 3_000

/** No test file takes this long, on any machine. */
const PATIENCE_MS = 300_000

/** A worker serves this many mutants. Then the tests that killed some must pass in it, or none of its kills counts. */
const BATCH = { quick: 50, slow: 5 }

/** Workers side by side: a quick test keeps a processor busy. */
export const WORKERS = { quick: 1, slow: 6 }

interface Judge {
  root: string
  /** Absolute paths, as those of the mutants. */
  code: string[]
  tests: string[]
  /** One for each worker. */
  workers: TestRuns[]
  /** This long after every test ran once, no further mutant begins. */
  minutes: number
  progress: (text: string) => void
}

export async function judgeMutants(mutants: Mutant[], judge: Judge): Promise<MutantJudgement[]> {
  const { minutes, progress } = judge
  const imports = importsOf(judge.root)
  const baselines = await measure(judge, [...dependentsOf(imports, judge.code)])
  const quick = baselines.filter(({ durationMs }) => durationMs <= QUICK_MS)
  const slow = baselines.filter(({ durationMs }) => durationMs > QUICK_MS)
  const court = new Court({ ...judge, imports, baselines })
  const judged = [...(await court.judgeAll(mutants, quick, 'quick', slow.length > 0 ? minutes / 2 : minutes)).values()]
  const survivors = judged.filter(isSurvivor)
  if (slow.length === 0 || survivors.length === 0) return judged
  progress(`the survivors meet ${slow.length} slow test files`)
  const again = await court.judgeAll(survivors, slow, 'slow', minutes / 2)
  return judged.map((judgement) => {
    if (!isSurvivor(judgement)) return judgement
    const second = again.get(judgement)
    if (!second) return { ...judgement, isOpen: true }
    return { ...second, isReached: second.isReached || judgement.isReached, isLate: !isSurvivor(second) }
  })
}

type CourtParts = Judge & { imports: ReturnType<typeof importsOf>; baselines: Baseline[] }

class Court {
  readonly #parts: CourtParts
  readonly #records = new Map<string, { kills: number; spentMs: number }>()

  constructor(parts: CourtParts) {
    this.#parts = parts
  }

  /** Judges mutants by these tests for as long as the time lasts. */
  async judgeAll(mutants: Mutant[], tests: Baseline[], speed: 'quick' | 'slow', minutes: number) {
    const { workers, progress } = this.#parts
    const deadline = AbortSignal.timeout(minutes * 60_000)
    const judged = new Map<Mutant, MutantJudgement>()
    let next = 0
    const work = async (runs: TestRuns) => {
      while (next < mutants.length && !deadline.aborted) {
        const batch = mutants.slice(next, next + BATCH[speed])
        next += BATCH[speed]
        for (const [mutant, judgement] of await this.#judgeBatch(runs, batch, tests, deadline))
          judged.set(mutant, judgement)
        const survived = [...judged.values()].filter(isSurvivor).length
        progress(`${judged.size} of ${mutants.length} mutants, ${survived} survived`)
      }
    }
    await Promise.all(workers.slice(0, WORKERS[speed]).map(work))
    return judged
  }

  async #judgeBatch(runs: TestRuns, batch: Mutant[], tests: Baseline[], deadline: AbortSignal) {
    const judgements = new Map<Mutant, MutantJudgement>()
    await runs.freshWorker()
    for (const mutant of batch) if (!deadline.aborted) judgements.set(mutant, await this.#judgeOne(runs, mutant, tests))
    if (await this.#areBelievable(runs, [...judgements.values()])) return judgements
    this.#parts.progress('a test fails without a mutant: each mutant of this batch runs again, in a process of its own')
    for (const [mutant, { verdict }] of judgements) {
      if (verdict !== 'killed') continue
      await runs.freshWorker()
      judgements.set(mutant, await this.#judgeOne(runs, mutant, tests))
    }
    return judgements
  }

  async #judgeOne(runs: TestRuns, mutant: Mutant, tests: Baseline[]): Promise<MutantJudgement> {
    const files = [...dependentsOf(this.#parts.imports, [mutant.file])]
    const worth = (baseline: Baseline) => {
      const { kills, spentMs } = this.#recordOf(baseline, mutant)
      return kills / spentMs
    }
    const reaching = tests.filter((baseline) => reaches(baseline, mutant, files)).sort((a, b) => worth(b) - worth(a))
    const mutated = { file: mutant.file, text: mutate(readFileSync(mutant.file, 'utf8'), mutant) }
    for (const baseline of reaching) {
      const { verdict, error, durationMs } = await runWithin(runs, baseline, { files, mutated })
      const record = this.#recordOf(baseline, mutant)
      record.spentMs += durationMs
      if (verdict === 'passed') continue
      if (verdict === 'timed out') return { ...mutant, verdict, by: baseline.test, isReached: true }
      record.kills++
      return { ...mutant, verdict: 'killed', by: `${baseline.test}: ${error}`, isReached: true }
    }
    return { ...mutant, verdict: 'survived', isReached: reaching.length > 0 }
  }

  /** What a test has done to the mutants of a file: the one that kills most of them in the least time comes first. */
  #recordOf({ test, durationMs }: Baseline, { file }: Mutant) {
    const key = `${test} ${file}`
    const record = this.#records.get(key) ?? { kills: 1, spentMs: durationMs }
    this.#records.set(key, record)
    return record
  }

  /** Whether all tests that killed one of these mutants pass without it, in the same worker. */
  async #areBelievable(runs: TestRuns, judgements: MutantJudgement[]): Promise<boolean> {
    const killers = new Set(
      judgements.flatMap(({ verdict, by }) => (verdict === 'killed' && by ? by.split(': ', 1) : [])),
    )
    for (const baseline of this.#parts.baselines.filter(({ test }) => killers.has(test))) {
      const { verdict } = await runs.run(baseline.test, { files: [], limitMs: limitOf(baseline) })
      if (verdict !== 'passed') return false
    }
    return true
  }
}

/**
 * Runs a test with a mutant. A time-out counts when the test without the mutant is in time right after it. When it is
 * not, the machine has become slower: the test gets a new limit.
 */
async function runWithin(runs: TestRuns, baseline: Baseline, load: Pick<Load, 'files' | 'mutated'>): Promise<TestRun> {
  for (;;) {
    const limitMs = limitOf(baseline)
    const run = await runs.run(baseline.test, { ...load, limitMs })
    if (run.verdict !== 'timed out') return run
    // What hangs would disturb the test.
    await runs.freshWorker()
    const { durationMs } = await runGreen(runs, baseline.test, { files: [], limitMs: PATIENCE_MS })
    if (durationMs <= limitMs) return run
    baseline.durationMs = durationMs
  }
}

const isSurvivor = ({ verdict }: MutantJudgement) => verdict === 'survived'

/** Runs every test file without a mutant, the fastest come first. */
async function measure(judge: Judge, files: string[]): Promise<Baseline[]> {
  const { code, tests, workers, progress } = judge
  const [runs] = workers
  if (!runs) throw new Error('no worker runs tests')
  const baselines: Baseline[] = []
  const measured = { files, measured: code, limitMs: PATIENCE_MS }
  // The first run also starts PostgreSQL and loads the packages.
  const [first] = tests
  if (first) await runs.run(first, measured)
  for (const test of tests) {
    const run = await runGreen(runs, test, measured)
    baselines.push({ test, durationMs: run.durationMs, reached: run.reached })
  }
  const totalMs = baselines.reduce((sum, { durationMs }) => sum + durationMs, 0)
  progress(`${tests.length} test files pass, in ${(totalMs / 1000).toFixed(0)} s`)
  return baselines.sort((a, b) => a.durationMs - b.durationMs)
}

/** Runs a test without a mutant. A test that fails runs once more, in its own process. */
async function runGreen(runs: TestRuns, test: string, options: Parameters<TestRuns['run']>[1]): Promise<TestRun> {
  const run = await runs.run(test, options)
  if (run.verdict === 'passed') return run
  await runs.freshWorker()
  const again = await runs.run(test, options)
  if (again.verdict !== 'passed') throw new Error(`${test} ${again.verdict} without a mutant: ${again.error}`)
  return again
}

/** Code that runs on load is reached by every test that imports it. */
function reaches({ test, reached }: Baseline, { file, start, runs }: Mutant, dependents: string[]): boolean {
  if (runs === 'on load') return dependents.includes(test)
  let count = 0
  let length = Number.POSITIVE_INFINITY
  for (const [from, to, times] of reached[file] ?? []) {
    if (from <= start && start < to && to - from <= length) {
      count = times
      length = to - from
    }
  }
  return count > 0
}
