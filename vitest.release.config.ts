import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import './test/harness/compile-cache.ts'
import { LongestFirst } from './test/harness/longest-first.ts'

/** `npm run test:release`: tests that need npm's packages only and take too long for every change. */
export default defineConfig({
  test: {
    globalSetup: ['test/harness/global-postgres.ts', 'test/harness/global-temporal.ts'],
    teardownTimeout: 20_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'release',
          include: ['test/**/*.release.test.ts'],
          globalSetup: ['test/harness/global-rsa-keys.ts'],
          setupFiles: ['test/harness/rsa-keys.ts'],
          maxWorkers: Math.ceil(1.5 * availableParallelism()),
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 20_000 } },
        },
      },
    ],
  },
})
