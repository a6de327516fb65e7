import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, type CommandResult, Reruns, runPart } from './run-part.ts'

/** How a part ended the last time that it ran in this checkout. */
export interface PartResult extends CommandResult {
  /** Absent when the checkout had changes: what ran on other files says nothing about a commit. */
  commit?: string | undefined
  seconds: number
}

interface Options {
  /** The folder that keeps the result of each part. */
  results: string
  /** The commit that the checkout has without changes, if so. */
  commit: string | undefined
  /** Does not repeat a part that passed at this commit. */
  resume: boolean
  print(line: string): void
}

/** Runs parts one after another, and returns whether all passed. The last line is `N passed, N failed`. */
export async function runParts(parts: readonly Command[], options: Options): Promise<boolean> {
  const { results: folder, commit, resume, print } = options
  const reruns = new Reruns()
  const results: CommandResult[] = []
  for (const part of parts) {
    const earlier = resume ? readResult(folder, part.name) : undefined
    if (earlier?.failed === 0 && earlier.commit !== undefined && earlier.commit === commit) {
      print(`=== ${part.name}: passed at this commit before`)
      results.push(earlier)
      continue
    }
    const startedAtMs = performance.now()
    const result = await runPart(part, reruns, print)
    results.push(result)
    const seconds = Math.round((performance.now() - startedAtMs) / 1_000)
    storeResult(folder, part.name, { ...result, commit, seconds })
  }
  const flaky = results.flatMap((result) => result.flaky)
  if (flaky.length > 0) print(['', `Tests that failed and then passed alone: ${flaky.length}`, ...flaky].join('\n'))
  const passed = results.reduce((sum, result) => sum + result.passed, 0)
  const failed = results.reduce((sum, result) => sum + result.failed, 0)
  print(`${passed} passed, ${failed} failed`)
  return failed === 0
}

export function cleanCommit(): string | undefined {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()
  return git('status', '--porcelain') === '' ? git('rev-parse', 'HEAD') : undefined
}

/** The result of a part, if it ran in this checkout. */
export function readResult(folder: string, part: string): PartResult | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, `${part}.json`), 'utf8'))
  } catch {
    return undefined
  }
}

function storeResult(folder: string, part: string, result: PartResult): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${part}.json`), `${JSON.stringify(result)}\n`)
}
