import { defineConfig } from 'vitest/config'
import './test/harness/compile-cache.ts'

/** `npm run cluster`: three machines with PostgreSQL, and everything that can happen to them, one after the other. */
export default defineConfig({
  test: {
    include: ['test/cluster/**/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    teardownTimeout: 20_000,
    maxWorkers: 1,
  },
})
