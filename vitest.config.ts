import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import './test/harness/compile-cache.ts'
import { LongestFirst } from './test/harness/longest-first.ts'

/** Tests that wait for time limits of seconds: much time, little work. */
const WAITING = 'test/**/*.waiting.test.ts'
/** Tests whose files take seconds of a processor each, because of many inputs or protocols. */
const THOROUGH = 'test/**/*.thorough.test.ts'
/** Tests that start whole processes: vitest.processes.config.ts. */
export const PROCESSES = 'test/**/*.process.test.ts'
/** Configurations of their own run these. */
const ELSEWHERE = ['test/**/*.release.test.ts', 'test/real/**', 'test/faults/**', 'test/cluster/**']

/** Workers for files that wait for sockets, PostgreSQL and processes half of their time: two to a processor. */
export const MOSTLY_WAITING = 2 * availableParallelism()
/** Workers for files that mostly wait for time limits, beside some that keep a processor busy: three to a processor. */
const WAITING_OR_BUSY = 3 * availableParallelism()
/** For a busy machine: what is waited for comes, however long it takes. */
export const patience = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 20_000 } } }

/** The files of a worker share the modules they import: to load them again for each took a third of the time. */
export const sharing = {
  isolate: false,
  // Node loads TypeScript itself, as it does in production: Vite's transformation of every file takes seconds.
  experimental: { viteModuleRunner: false, nodeLoader: false },
  globalSetup: ['test/harness/global-rsa-keys.ts'],
  setupFiles: ['test/harness/rsa-keys.ts'],
  ...patience,
}

export default defineConfig({
  test: {
    globalSetup: ['test/harness/global-postgres.ts'],
    // What keeps a run from its end is ended after this: no handle that was forgotten holds up `.ci/run`.
    teardownTimeout: 20_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      // The fast loop of `npm run check`.
      {
        test: {
          ...sharing,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [WAITING, THOROUGH, PROCESSES, ...ELSEWHERE],
          sequence: { groupOrder: 0 },
          maxWorkers: MOSTLY_WAITING,
        },
      },
      {
        test: {
          ...sharing,
          name: 'waiting and thorough',
          include: [WAITING, THOROUGH],
          sequence: { groupOrder: 1 },
          maxWorkers: WAITING_OR_BUSY,
        },
      },
    ],
  },
})
