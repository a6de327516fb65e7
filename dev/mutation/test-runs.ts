import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createVitest, type TestModule } from 'vitest/node'
import { sharing } from '../../vitest.config.ts'
import type { Load } from './hooks.ts'
import { KeptWorker } from './kept-worker.ts'

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))

export type TestRuns = Awaited<ReturnType<typeof startTestRuns>>

export interface TestRun {
  verdict: 'passed' | 'failed' | 'timed out'
  durationMs: number
  /** Why it failed: the first error, and the id of its test. An error outside of all tests has none. */
  error?: string
  redTest?: string
  reached: NonNullable<ReturnType<TestModule['meta']>['reached']>
}

/** Runs single test files, in one worker that stays. Files are absolute paths. */
export async function startTestRuns(tests: string[]) {
  let worker: KeptWorker | undefined
  let lastId = 0
  const vitest = await startVitest(tests, (options) => {
    worker ??= new KeptWorker(options)
    return worker
  })

  return {
    async run(
      test: string,
      load: Omit<Load, 'id'> & { measured?: string[]; skipped?: string[]; limitMs: number },
    ): Promise<TestRun> {
      vitest.provide('load', { id: ++lastId, ...load })
      const startedAt = performance.now()
      const running = vitest
        .runTestSpecifications(vitest.projects.map((project) => project.createSpecification(test)))
        .then(({ testModules }) => testModules.find(({ moduleId }) => moduleId === test))
      const late = new AbortController()
      const module = await Promise.race([
        running,
        sleep(load.limitMs, 'late' as const, { signal: late.signal }).catch(() => 'late' as const),
      ])
      late.abort()
      const durationMs = performance.now() - startedAt
      if (module !== 'late') return { ...verdictOf(module), durationMs }
      await worker?.end()
      await running.catch(() => {})
      return { verdict: 'timed out', durationMs, reached: [] }
    },
    /** The next run gets a new process: what earlier mutants have left behind is gone. */
    freshWorker: async () => worker?.end(),
    async stop() {
      await worker?.end()
      await vitest.close()
    },
  }
}

const startVitest = (tests: string[], createPoolWorker: (options: PoolOptions) => KeptWorker) =>
  createVitest('test', {
    ...sharing,
    config: false,
    watch: false,
    include: tests,
    globalSetup: ['test/harness/global-postgres.ts', ...sharing.globalSetup],
    setupFiles: [here('setup.ts'), ...sharing.setupFiles],
    execArgv: ['--import', here('hooks.ts')],
    // Nothing is read from the cache that a mutated module could have filled.
    env: { NODE_DISABLE_COMPILE_CACHE: '1' },
    pool: { name: 'kept', createPoolWorker },
    maxWorkers: 1,
    reporters: [{}],
  })

type PoolOptions = ConstructorParameters<typeof KeptWorker>[0]

function verdictOf(module: TestModule | undefined): Omit<TestRun, 'durationMs'> {
  const reached = module?.meta().reached ?? []
  if (module?.ok()) return { verdict: 'passed', reached }
  const failed = [...(module?.children.allTests('failed') ?? [])][0]
  const [thrown] = failed?.result().errors ?? module?.errors() ?? []
  const error = module
    ? `${failed?.fullName ?? module.moduleId}: ${thrown?.message.split('\n')[0]}`
    : 'the worker ended'
  return { verdict: TIMED_OUT.test(error) ? 'timed out' : 'failed', error, redTest: failed?.id, reached }
}

const TIMED_OUT = /: (?:Test|Hook) timed out in /
