import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { SerializedError } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'

/** The result of a run of Vitest, as `.ci/run-part.ts` reads it. */
export interface RunResult {
  passed: number
  /** Tests that failed, and files that failed before their first test. */
  failures: Failure[]
  /** Errors outside of any test. */
  strayErrors: number
  /** How long each file took, in seconds: its imports, hooks and tests. */
  files: Record<string, number>
}

export interface Failure {
  /** The path from the folder that Vitest ran in. */
  file: string
  /** The test's full name, or `(file)`. */
  test: string
  /** The first line of the first error. */
  error: string
}

/** Writes the result to the file that `VITEST_RESULT_FILE` names. */
export default class ResultReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], strayErrors: readonly SerializedError[]): void {
    const result: RunResult = {
      passed: modules.reduce((sum, module) => sum + [...module.children.allTests('passed')].length, 0),
      failures: modules.flatMap(failuresOf),
      strayErrors: strayErrors.length,
      files: Object.fromEntries(modules.map((module) => [pathOf(module), secondsOf(module)])),
    }
    writeFileSync(process.env.VITEST_RESULT_FILE!, JSON.stringify(result))
  }
}

function pathOf(module: TestModule): string {
  return relative(module.project.config.root, module.moduleId)
}

function secondsOf(module: TestModule): number {
  const { duration, setupDuration, collectDuration } = module.diagnostic()
  return Math.round((duration + setupDuration + collectDuration) / 100) / 10
}

function failuresOf(module: TestModule): Failure[] {
  const file = pathOf(module)
  const tests = [...module.children.allTests('failed')].map((test) => ({
    file,
    test: test.fullName,
    error: firstLine(test.result().errors),
  }))
  const suites = [...module.children.allSuites(), module].flatMap((suite) => suite.errors())
  const isBroken = tests.length === 0 && !module.ok()
  return isBroken ? [{ file, test: '(file)', error: firstLine(suites) }] : tests
}

function firstLine(errors: readonly { message: string }[] = []): string {
  return errors[0]?.message.split('\n', 1)[0] ?? 'no error'
}
