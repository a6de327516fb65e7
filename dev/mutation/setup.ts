import { Session } from 'node:inspector/promises'
import { afterAll, inject } from 'vitest'
import { type Load, queryOf, use } from './hooks.ts'

// Runs in the worker before each test file: loads the mutant, or measures which code the file reaches.

declare module 'vitest' {
  interface ProvidedContext {
    load: Load & { measured?: string[] }
  }
  interface TaskMeta {
    /** The ranges of each measured file, and how often each ran. */
    reached?: Record<string, [start: number, end: number, count: number][]>
  }
}

const load = inject('load')
use(load)
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
