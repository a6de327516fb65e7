import { defineConfig } from 'vitest/config'

const shared = {
  globalSetup: ['test/harness/global-postgres.ts', 'test/harness/global-temporal.ts'],
  hookTimeout: 120_000,
  expect: { poll: { timeout: 20_000 } },
}

/** Run by test/real/run.ts, which brings what the tests need. */
export default defineConfig({
  test: {
    // Each file has servers of its own, and the machine is small.
    fileParallelism: false,
    projects: [
      { test: { ...shared, name: 'real', include: ['test/real/**/*.test.ts'], testTimeout: 60_000 } },
      { test: { ...shared, name: 'database', include: ['test/{db,sending}/**/*.test.ts'], testTimeout: 30_000 } },
    ],
  },
})
