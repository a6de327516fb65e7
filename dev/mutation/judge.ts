import { readFileSync } from 'node:fs'
import { dependentsOf, importsOf } from './imports.ts'
import { type Mutant, mutate } from './mutants.ts'
import type { TestRuns } from './test-runs.ts'

// Judges mutants: each one runs the tests that reach it, the fastest first, until one is red.

export interface Judgement extends Mutant {
  verdict: 'killed' | 'timed out' | 'survived'
  /** The first red test. A survivor has none, because its tests are green or because no test reaches it. */
  by?: string
  isReached: boolean
}

/** What a test file does without a mutant. */
interface Baseline {
  test: string
  durationMs: number
  reached: Record<string, [start: number, end: number, count: number][]>
}

/** A mutant may be slower than its tests, and the machine busier than before. */
const limitOf = ({ durationMs }: Baseline) => 10_000 + 5 * durationMs

/** A worker serves this many mutants. Then the tests that killed some must pass in it, or none of its kills counts. */
const BATCH = 25

interface Judge {
  root: string
  /** Absolute paths, as those of the mutants. */
  code: string[]
  tests: string[]
  runs: TestRuns
  /** No mutant begins when it is aborted. */
  deadline: AbortSignal
  progress: (text: string) => void
}

export async function judgeMutants(mutants: Mutant[], judge: Judge): Promise<Judgement[]> {
  const { runs, deadline, progress } = judge
  const imports = importsOf(judge.root)
  const baselines = await measure(judge, [...dependentsOf(imports, judge.code)])
  const judged: Judgement[] = []

  async function judgeOne(mutant: Mutant): Promise<Judgement> {
    const files = [...dependentsOf(imports, [mutant.file])]
    const reaching = baselines.filter((baseline) => reaches(baseline, mutant, files))
    const mutated = { file: mutant.file, text: mutate(readFileSync(mutant.file, 'utf8'), mutant) }
    for (const baseline of reaching) {
      const { verdict, error } = await runs.run(baseline.test, { files, mutated, limitMs: limitOf(baseline) })
      if (verdict === 'failed')
        return { ...mutant, verdict: 'killed', by: `${baseline.test}: ${error}`, isReached: true }
      if (verdict === 'timed out') {
        await isInTime(baseline)
        return { ...mutant, verdict, by: baseline.test, isReached: true }
      }
    }
    return { ...mutant, verdict: 'survived', isReached: reaching.length > 0 }
  }

  /** Whether all tests that killed one of these mutants pass without it, in the same worker. */
  async function areBelievable(judgements: Judgement[]): Promise<boolean> {
    const killers = new Set(
      judgements.filter(({ verdict }) => verdict === 'killed').map(({ by }) => by!.split(': ')[0]),
    )
    for (const baseline of baselines.filter(({ test }) => killers.has(test))) {
      const { verdict } = await runs.run(baseline.test, { files: [], limitMs: limitOf(baseline) })
      if (verdict !== 'passed') return false
    }
    return true
  }

  for (let from = 0; from < mutants.length && !deadline.aborted; from += BATCH) {
    const batch = mutants.slice(from, from + BATCH)
    const judgements: Judgement[] = []
    await runs.freshWorker()
    for (const mutant of batch) if (!deadline.aborted) judgements.push(await judgeOne(mutant))
    if (!(await areBelievable(judgements))) {
      progress('a test fails without a mutant: each mutant of this batch runs again, in a process of its own')
      for (const [i, { verdict }] of judgements.entries()) {
        if (verdict !== 'killed') continue
        await runs.freshWorker()
        judgements[i] = await judgeOne(batch[i]!)
      }
    }
    judged.push(...judgements)
    const survivors = judged.filter(({ verdict }) => verdict === 'survived').length
    progress(`${judged.length} of ${mutants.length} mutants, ${survivors} survived`)
  }
  return judged

  /** After a time-out the test must end in time without the mutant: on a machine that became slower, no limit holds. */
  async function isInTime(baseline: Baseline): Promise<void> {
    const { verdict } = await runs.run(baseline.test, { files: [], limitMs: limitOf(baseline) })
    if (verdict !== 'passed') throw new Error(`${baseline.test}: ${verdict} without a mutant, after a mutant timed out`)
  }
}

/** Runs every test file without a mutant, the fastest come first. */
async function measure({ code, tests, runs, deadline, progress }: Judge, files: string[]): Promise<Baseline[]> {
  const baselines: Baseline[] = []
  const measured = { files, measured: code, limitMs: 300_000 }
  // The first run also starts PostgreSQL and loads the packages.
  await runs.run(tests[0]!, measured)
  for (const test of tests) {
    let run = await runs.run(test, measured)
    if (run.verdict !== 'passed') {
      await runs.freshWorker()
      run = await runs.run(test, measured)
    }
    if (run.verdict !== 'passed') throw new Error(`${test} ${run.verdict} without a mutant: ${run.error}`)
    baselines.push({ test, durationMs: run.durationMs, reached: run.reached })
    if (deadline.aborted) throw new Error('The time is over before every test ran once')
  }
  const totalMs = baselines.reduce((sum, { durationMs }) => sum + durationMs, 0)
  progress(`${tests.length} test files pass, in ${(totalMs / 1000).toFixed(0)} s`)
  return baselines.sort((a, b) => a.durationMs - b.durationMs)
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
