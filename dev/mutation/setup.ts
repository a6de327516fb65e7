import type { Profiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { afterAll, afterEach, beforeEach, inject, vi } from 'vitest'
import { type Load, queryOf, use } from './hooks.ts'

// Runs in the worker before each test file: loads the mutant, or measures which code the file reaches.

/** The ranges of each measured file, and how often each ran. */
export type Coverage = Record<string, [start: number, end: number, count: number][]>

declare module 'vitest' {
  interface ProvidedContext {
    load: Load & { measured?: string[]; skipped?: string[]; limitMs: number }
  }
  interface TaskMeta {
    /** What a test reaches, by its id. What a file reaches between its tests has no id, and counts for all of them. */
    reached?: [test: string, Coverage][]
  }
}

const load = inject('load')
use(load)
// A test that hangs fails before its file is late: the worker can go on, and loads nothing again.
const testTimeout = 0.9 * load.limitMs
vi.setConfig({ testTimeout, hookTimeout: testTimeout })

// One red test is enough. Vitest's own `bail` cancels the run, and such a run never ends when its worker is killed.
let isRed = false
afterEach(({ task }) => {
  isRed ||= task.result?.state === 'fail'
})
const skipped = new Set(load.skipped)
beforeEach(({ task, skip }) => skip(isRed || skipped.has(task.id)))

if (load.measured) await measure(new Set(load.measured))

async function measure(files: Set<string>) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const reached: [test: string, Coverage][] = []
  /** What ran since the last call. */
  const note = async (test: string) => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    reached.push([test, coverageOf(result, files)])
  }
  beforeEach(() => note(''))
  afterEach(({ task }) => note(task.id))
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the first argument which fixtures the hook uses.
  afterAll(async ({}, suite) => {
    await note('')
    await session.post('Profiler.stopPreciseCoverage')
    session.disconnect()
    suite.meta.reached = reached
  })
}

const coverageOf = (scripts: Profiler.ScriptCoverage[], files: Set<string>): Coverage =>
  Object.fromEntries(
    scripts
      .filter(({ url }) => url.endsWith(queryOf(load.id)))
      .map(({ url, functions }): [string, Coverage[string]] => [
        new URL(url).pathname,
        functions.flatMap(({ ranges }) =>
          ranges.map((range): Coverage[string][number] => [range.startOffset, range.endOffset, range.count]),
        ),
      ])
      .filter(([file, ranges]) => files.has(file) && ranges.some(([, , count]) => count > 0)),
  )
