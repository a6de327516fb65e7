import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/harness/longest-first.ts'
import { patience, sharing } from './vitest.config.ts'

const { globalSetup, setupFiles } = sharing

/** Each file starts and ends processes by the dozen. */
const WITH_PROCESSES = Math.ceil(1.5 * availableParallelism())

/** `npm run test:release`: tests that need npm's packages only and take too long for every change. */
export default defineConfig({
  test: {
    globalSetup: ['test/harness/global-postgres.ts', 'test/harness/global-temporal.ts'],
    teardownTimeout: 20_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...patience,
          name: 'release',
          include: ['test/**/*.release.test.ts'],
          globalSetup,
          setupFiles,
          maxWorkers: WITH_PROCESSES,
        },
      },
    ],
  },
})
