import { Session } from 'node:inspector/promises'
import { afterAll, afterEach, beforeEach, inject, vi } from 'vitest'
import { type Load, queryOf, use } from './hooks.ts'

// Runs in the worker before each test file: loads the mutant, or measures which code the file reaches.

declare module 'vitest' {
  interface ProvidedContext {
    load: Load & { measured?: string[]; limitMs: number }
  }
  interface TaskMeta {
    /** The ranges of each measured file, and how often each ran. */
    reached?: Record<string, [start: number, end: number, count: number][]>
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
beforeEach(({ skip }) => skip(isRed))

if (load.measured) await measure(new Set(load.measured))

async function measure(files: Set<string>) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the first argument which fixtures the hook uses.
  afterAll(async ({}, suite) => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    await session.post('Profiler.stopPreciseCoverage')
    session.disconnect()
    const reached = result
      .filter(({ url }) => url.endsWith(queryOf(load.id)))
      .map(({ url, functions }) => [
        new URL(url).pathname,
        functions.flatMap(({ ranges }) => ranges.map((range) => [range.startOffset, range.endOffset, range.count])),
      ])
      .filter(([file]) => files.has(file as string))
    suite.meta.reached = Object.fromEntries(reached)
  })
}
