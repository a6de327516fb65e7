import { readFileSync } from 'node:fs'
import { parseSync, Visitor } from 'vite'
import type { Mutant } from './mutants.ts'
import type { Coverage } from './setup.ts'
import type { TestRun } from './test-runs.ts'

/** What a test file does without a mutant. */
export interface Baseline {
  test: string
  durationMs: number
  reached: TestRun['reached']
  /** Some of its tests need others before them: all run with each mutant. */
  isWhole?: true
}

/** Code that runs on load is reached by every test that imports it. */
export function reaches({ test, reached }: Baseline, mutant: Mutant, dependents: string[]): boolean {
  if (mutant.runs === 'on load') return dependents.includes(test)
  return reached.some(([, coverage]) => covers(coverage, mutant))
}

/** The tests of a file, by their ids. */
export const testsOf = ({ reached }: Baseline): string[] => reached.flatMap(([tests]) => tests)

/** The tests of a file that do not reach the mutant. */
export function testsThatMiss(baseline: Baseline, mutant: Mutant): string[] {
  if (mutant.runs === 'on load') return []
  const reaching = baseline.reached.filter(([, coverage]) => covers(coverage, mutant)).map(([tests]) => tests)
  const isForAll = reaching.some((tests) => tests.length === 0)
  return isForAll ? [] : testsOf(baseline).filter((test) => !reaching.some((tests) => tests.includes(test)))
}

/** The innermost range decides. */
function covers(coverage: Coverage, { file, start }: Mutant): boolean {
  let count = 0
  let length = Number.POSITIVE_INFINITY
  for (const [from, to, times] of coverage[file] ?? []) {
    if (from <= start && start < (times > 0 ? to : endOf(file, from, to)) && to - from <= length) {
      count = times
      length = to - from
    }
  }
  return count > 0
}

/** For V8, what follows an `await` in a branch of an expression that did not run has not run, either. */
function endOf(file: string, from: number, to: number): number {
  const choice = choicesOf(file).find(({ start, end }) => start < from && from < end && end < to)
  return choice?.end ?? to
}

const choices = new Map<string, { start: number; end: number }[]>()

/** The expressions with branches, the outermost ones first. */
function choicesOf(file: string) {
  let found = choices.get(file)
  if (found) return found
  found = []
  choices.set(file, found)
  const note = (node: { start: number; end: number }) => void found.push(node)
  const visitor = new Visitor({ ConditionalExpression: note, LogicalExpression: note })
  visitor.visit(parseSync(file, readFileSync(file, 'utf8'), { lang: 'ts' }).program)
  return found
}
