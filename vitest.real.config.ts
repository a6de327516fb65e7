import { defineConfig } from 'vitest/config'
import './test/harness/compile-cache.ts'
import { LongestFirst } from './test/harness/longest-first.ts'

const shared = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 20_000 } },
  sequence: { groupOrder: 0 },
  // Each file has servers of its own, and waits for them more than half of its time.
  maxWorkers: 3,
}

/** In these no request may fail, or bars are times of the machine: nothing else runs beside them. */
const ALONE = ['test/real/rolling-upgrade.test.ts', 'test/real/patroni.test.ts', 'test/real/temporal-cluster.test.ts']

/** What touches the statements of sends, reports and events: their SQL runs on Debian's PostgreSQL, too. */
const STATEMENTS = [
  'test/{db,ledger,reputation,sending}/**/*.test.ts',
  'test/inbound/{feedback.waiting,retried-messages}.test.ts',
  'test/stream/leases.test.ts',
  'test/webhooks/{attempts.thorough,hand-over.waiting}.test.ts',
]

/** Run by test/real/run.ts, which brings what the tests need. */
export default defineConfig({
  test: {
    globalSetup: ['test/harness/global-postgres.ts', 'test/harness/global-temporal.ts'],
    teardownTimeout: 20_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { ...shared, name: 'real', include: ['test/real/**/*.test.ts'], exclude: ALONE } },
      { test: { ...shared, name: 'database', include: STATEMENTS } },
      {
        test: {
          ...shared,
          name: 'alone',
          include: ALONE,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          sequence: { groupOrder: 1 },
          maxWorkers: 1,
        },
      },
    ],
  },
})
