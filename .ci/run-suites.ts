import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Failure, RunResult } from './reporter.ts'

/** A command that runs Vitest and passes further arguments on to it, such as `npm test --`. */
export interface Suite {
  name: string
  command: string
}

export interface SuitesResult {
  /** Tests that passed. */
  passed: number
  /** Tests that failed, and suites that failed without a failed test. */
  failed: number
  /** Files that failed in their suite and passed alone. */
  flakyFiles: number
}

/** A sixth failed file is no longer taken for chance. */
const MAX_RERUNS = 5
const REPORTER = fileURLToPath(new URL('reporter.ts', import.meta.url))
const NOTHING: RunResult = { passed: 0, failures: [], strayErrors: 0 }

/**
 * Runs the suites one after another. At the end of a suite, each file that failed runs once more, alone. When it passes
 * then, `print` gets a line for each of its failures, which begins with `FLAKY`, and the suite goes on as if it had
 * passed. At most five files of all suites run again. Only a failed test, or a file that could not be loaded, is a
 * reason: an error outside of any test fails the suite.
 */
export async function runSuites(suites: Suite[], print: (line: string) => void): Promise<SuitesResult> {
  const sum: SuitesResult = { passed: 0, failed: 0, flakyFiles: 0 }
  let reruns = 0
  for (const suite of suites) {
    const { ok, passed, failures, strayErrors } = await runOnce(suite, print)
    sum.passed += passed
    if (ok && passed > 0) continue
    const files = [...new Set(failures.map(({ file }) => file))]
    reruns += files.length
    if (files.length === 0 || strayErrors > 0 || reruns > MAX_RERUNS) {
      if (reruns > MAX_RERUNS) print(`more than ${MAX_RERUNS} files failed: none runs again`)
      sum.failed += Math.max(failures.length, 1)
      continue
    }
    for (const file of files) {
      const rerun = await runOnce({ name: `${suite.name}, ${file} alone`, command: `${suite.command} ${file}` }, print)
      const ofFile = failures.filter((failure) => failure.file === file)
      if (!rerun.ok || rerun.passed === 0) {
        sum.failed += Math.max(rerun.failures.length, 1)
        continue
      }
      sum.flakyFiles++
      sum.passed += ofFile.length
      for (const failure of ofFile) print(flakyLine(failure))
    }
  }
  return sum
}

async function runOnce({ name, command }: Suite, print: (line: string) => void): Promise<RunResult & { ok: boolean }> {
  const startedAtMs = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'verdict-suite-'))
  const resultFile = join(folder, 'result.json')
  print(`=== ${name}: ${command}`)
  const child = spawn(`${command} --reporter=default --reporter=${REPORTER}`, {
    shell: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, VITEST_RESULT_FILE: resultFile },
  })
  const [status] = await once(child, 'close')
  print(`=== ${name}: exit ${status} after ${Math.round((performance.now() - startedAtMs) / 1_000)} s`)
  const result = readResult(resultFile)
  rmSync(folder, { recursive: true })
  return { ok: status === 0, ...result }
}

/** A run that did not come as far as its end has no result. */
function readResult(file: string): RunResult {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return NOTHING
  }
}

function flakyLine({ file, test, error }: Failure): string {
  return `FLAKY ${file} > ${test}: ${error}`
}
