import { defineConfig } from 'vitest/config'

/** `npm run faults`: the long fault runs, about twenty minutes. */
export default defineConfig({
  test: {
    include: ['test/faults/**/*.test.ts'],
    globalSetup: ['test/harness/global-postgres.ts', 'test/harness/global-temporal.ts'],
    // Each file starts and ends processes by the dozen, and the machine is small.
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
  },
})
