import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Load } from './hooks.ts'
import { dependentsOf, importsOf } from './imports.ts'
import { type Mutant, mutate } from './mutants.ts'
import { type Baseline, reaches, testsOf, testsThatMiss } from './reach.ts'
import type { TestRun, TestRuns } from './test-runs.ts'

// Judges mutants: each one runs the tests that reach it until one is red. The fastest come first, and those that
// killed others of its file. Several mutants run side by side, because most tests wait.

export interface MutantJudgement extends Mutant {
  verdict: 'killed' | 'timed out' | 'survived'
  /** The first red test. A survivor has none, because its tests are green or because no test reaches it. */
  by?: string
  redTest?: string
  isReached: boolean
}

/** A mutant may be slower than its tests, and the machine busier than before. */
const limitOf = ({ durationMs }: Baseline) => 5_000 + 4 * durationMs

/** No test file takes this long, on any machine. */
const PATIENCE_MS = 300_000

/** A worker serves this many mutants. Then the tests that killed some must pass in it, or none of its kills counts. */
const BATCH = 10

/** Mutants side by side. */
export const WORKERS = 4

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
  const imports = importsOf(judge.root)
  const baselines = await measure(judge, [...dependentsOf(imports, judge.code)])
  return new Court({ ...judge, imports, baselines }).judgeAll(mutants)
}

type CourtParts = Judge & { imports: ReturnType<typeof importsOf>; baselines: Baseline[] }

class Court {
  readonly #parts: CourtParts
  readonly #records = new Map<string, { kills: number; spentMs: number }>()

  constructor(parts: CourtParts) {
    this.#parts = parts
  }

  /** Judges mutants for as long as the time lasts. */
  async judgeAll(mutants: Mutant[]): Promise<MutantJudgement[]> {
    const { workers, minutes, progress } = this.#parts
    const deadline = AbortSignal.timeout(minutes * 60_000)
    const judged: MutantJudgement[] = []
    let next = 0
    const work = async (runs: TestRuns) => {
      while (next < mutants.length && !deadline.aborted) {
        const batch = mutants.slice(next, next + BATCH)
        next += BATCH
        judged.push(...(await this.#judgeBatch(runs, batch, deadline)))
        const survived = judged.filter(({ verdict }) => verdict === 'survived').length
        progress(`${judged.length} of ${mutants.length} mutants, ${survived} survived`)
      }
    }
    await Promise.all(workers.map(work))
    return judged
  }

  async #judgeBatch(runs: TestRuns, batch: Mutant[], deadline: AbortSignal) {
    const judgements = new Map<Mutant, MutantJudgement>()
    await runs.freshWorker()
    for (const mutant of batch) if (!deadline.aborted) judgements.set(mutant, await this.#judgeOne(runs, mutant))
    if (await this.#areBelievable(runs, [...judgements.values()])) return judgements.values()
    this.#parts.progress('each mutant that was killed in this batch runs again, in a process of its own')
    for (const [mutant, { verdict }] of judgements) {
      if (verdict !== 'killed') continue
      await runs.freshWorker()
      judgements.set(mutant, await this.#judgeOne(runs, mutant))
    }
    return judgements.values()
  }

  async #judgeOne(runs: TestRuns, mutant: Mutant): Promise<MutantJudgement> {
    const { imports, baselines } = this.#parts
    const files = [...dependentsOf(imports, [mutant.file])]
    const worth = (baseline: Baseline) => {
      const { kills, spentMs } = this.#recordOf(baseline, mutant)
      return kills / spentMs
    }
    const reaching = baselines
      .filter((baseline) => reaches(baseline, mutant, files))
      .sort((a, b) => worth(b) - worth(a))
    const mutated = { file: mutant.file, text: mutate(readFileSync(mutant.file, 'utf8'), mutant) }
    for (const baseline of reaching) {
      const skipped = baseline.isWhole ? [] : testsThatMiss(baseline, mutant)
      const { verdict, error, redTest, durationMs } = await runWithin(runs, baseline, { files, mutated, skipped })
      const record = this.#recordOf(baseline, mutant)
      record.spentMs += durationMs
      if (verdict === 'passed') continue
      if (verdict === 'timed out') return { ...mutant, verdict, by: baseline.test, isReached: true }
      record.kills++
      return { ...mutant, verdict: 'killed', by: `${baseline.test}: ${error}`, redTest, isReached: true }
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
    const kills = judgements.filter(({ verdict }) => verdict === 'killed')
    for (const baseline of this.#parts.baselines) {
      const red = kills.filter(({ by }) => by?.startsWith(`${baseline.test}: `)).map(({ redTest }) => redTest)
      if (red.length === 0) continue
      const skipped =
        baseline.isWhole || red.includes(undefined) ? [] : testsOf(baseline).filter((test) => !red.includes(test))
      const { verdict, error } = await runs.run(baseline.test, { files: [], skipped, limitMs: limitOf(baseline) })
      if (verdict === 'passed') continue
      this.#parts.progress(`${relative(this.#parts.root, baseline.test)} ${verdict} without a mutant: ${error}`)
      if (skipped.length > 0) baseline.isWhole = true
      return false
    }
    return true
  }
}

/**
 * Runs a test with a mutant. A time-out counts when the test without the mutant is in time right after it. When it is
 * not, the machine has become slower: the test gets a new limit.
 */
async function runWithin(
  runs: TestRuns,
  baseline: Baseline,
  load: Pick<Load, 'files' | 'mutated'> & { skipped: string[] },
): Promise<TestRun> {
  for (;;) {
    const limitMs = limitOf(baseline)
    const run = await runs.run(baseline.test, { ...load, limitMs })
    if (run.verdict !== 'timed out') return run
    // What hangs would disturb the test.
    await runs.freshWorker()
    const { skipped } = load
    const { durationMs } = await runGreen(runs, baseline.test, { files: [], skipped, limitMs: PATIENCE_MS })
    if (durationMs <= limitMs) return run
    baseline.durationMs = durationMs
  }
}

/** Runs every test file without a mutant. */
async function measure({ code, tests, workers, progress }: Judge, files: string[]): Promise<Baseline[]> {
  const baselines: Baseline[] = []
  const waiting = [...tests]
  const measured = { files, measured: code, limitMs: PATIENCE_MS }
  const work = async (runs: TestRuns) => {
    // The first run also starts PostgreSQL and loads the packages.
    if (tests[0]) await runs.run(tests[0], measured)
    for (let test = waiting.shift(); test; test = waiting.shift()) {
      const { durationMs, reached } = await runGreen(runs, test, measured)
      baselines.push({ test, durationMs, reached })
    }
  }
  await Promise.all(workers.map(work))
  const totalMs = baselines.reduce((sum, { durationMs }) => sum + durationMs, 0)
  progress(`${tests.length} test files pass, in ${(totalMs / 1000).toFixed(0)} s`)
  return baselines
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
