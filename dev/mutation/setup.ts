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
    /** What some tests reach, by their ids. What a file reaches before its tests has no ids, and counts for all. */
    reached?: [tests: string[], Coverage][]
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

/** To read the coverage takes a tenth of it: quick tests are measured together. */
const MEASURED_MS = 300

async function measure(files: Set<string>) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const reached: [tests: string[], Coverage][] = []
  let tests: string[] = []
  let notedMs = 0
  /** What ran since the last call. */
  const note = async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    reached.push([tests, coverageOf(result, files)])
    tests = []
    notedMs = performance.now()
  }
  beforeEach(() => (reached.length === 0 ? note() : undefined))
  afterEach(({ task }) => {
    tests.push(task.id)
    return performance.now() - notedMs >= MEASURED_MS ? note() : undefined
  })
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the first argument which fixtures the hook uses.
  afterAll(async ({}, suite) => {
    await note()
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
