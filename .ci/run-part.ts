import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Part } from './parts.ts'
import type { Failure, RunResult } from './reporter.ts'

/**
 * What of a part decides how it runs. A command with `tests` runs Vitest and passes further arguments on to it, such as
 * `npm test --`. Another command counts as one test, which passes when its exit code is 0.
 */
export type Command = Pick<Part, 'name' | 'command' | 'tests'>

export interface CommandResult {
  /** Tests that passed. */
  passed: number
  /** Tests that failed; 1 for a part that failed without a failed test. */
  failed: number
  /** A line for each test that failed in its part and passed alone. It begins with `FLAKY`. */
  flaky: string[]
  /** How long each file took in the part, in seconds. */
  files: Record<string, number>
}

/** How many failed files a run tries once more. A sixth failed file is no longer taken for chance. */
export class Reruns {
  #left = 5

  /** Whether these files may run again. */
  take(files: number): boolean {
    this.#left -= files
    return this.#left >= 0
  }
}

const REPORTER = fileURLToPath(new URL('reporter.ts', import.meta.url))
const NOTHING: RunResult = { passed: 0, failures: [], strayErrors: 0, files: {} }

/**
 * Runs a part. At its end, each file that failed runs once more, alone. When it passes then, the part counts as if it
 * had passed. Only a failed test, or a file that could not be loaded, is a reason: an error outside of any test fails
 * the part.
 */
export async function runPart(part: Command, reruns: Reruns, print: (line: string) => void): Promise<CommandResult> {
  const { ok, passed, failures, strayErrors, files } = await runOnce(part, print)
  const result: CommandResult = { passed, failed: 0, flaky: [], files }
  if (ok && passed > 0) return result
  const failedFiles = [...new Set(failures.map(({ file }) => file))]
  if (failedFiles.length === 0 || strayErrors > 0) return { ...result, failed: Math.max(failures.length, 1) }
  if (!reruns.take(failedFiles.length)) {
    print('more than 5 files failed: none of this part runs again')
    return { ...result, failed: failures.length }
  }
  for (const file of failedFiles) {
    const alone = { ...part, name: `${part.name}, ${file} alone`, command: `${part.command} ${file}` }
    const rerun = await runOnce(alone, print)
    if (!rerun.ok || rerun.passed === 0) {
      result.failed += Math.max(rerun.failures.length, 1)
      continue
    }
    const ofFile = failures.filter((failure) => failure.file === file)
    result.passed += ofFile.length
    result.flaky.push(...ofFile.map(flakyLine))
  }
  return result
}

async function runOnce(part: Command, print: (line: string) => void): Promise<RunResult & { ok: boolean }> {
  const { name, command, tests } = part
  const startedAtMs = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'verdict-part-'))
  const resultFile = join(folder, 'result.json')
  print(`=== ${name}: ${command}`)
  const child = spawn(tests ? `${command} --reporter=default --reporter=${REPORTER}` : command, {
    shell: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, VITEST_RESULT_FILE: resultFile },
  })
  const [status] = await once(child, 'close')
  print(`=== ${name}: exit ${status} after ${Math.round((performance.now() - startedAtMs) / 1_000)} s`)
  const result = tests ? readResult(resultFile) : { ...NOTHING, passed: status === 0 ? 1 : 0 }
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
