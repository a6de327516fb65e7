import { defineConfig } from 'vitest/config'

/** `npm run faults`: the long fault runs, about twenty minutes. */
export default defineConfig({
  test: {
    include: ['test/faults/**/*.test.ts'],
    globalSetup: ['test/harness/global-postgres.ts', 'test/harness/global-temporal.ts'],
    // Each file starts and ends processes by the dozen, and the machine is small.
    fileParallelism: false,
    // A machine that is busy with other work starts a process in seconds. No promise is about the time of a whole run.
    testTimeout: 600_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 20_000 } },
  },
})
