import { defineConfig } from 'vitest/config'
import './test/harness/compile-cache.ts'

const shared = {
  testTimeout: 600_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
  maxWorkers: 1,
}

/** `npm run cluster`: three machines with PostgreSQL, and everything that can happen to them, one after the other. */
export default defineConfig({
  test: {
    teardownTimeout: 20_000,
    projects: [
      { test: { ...shared, name: 'postgres', include: ['test/cluster/cluster.test.ts'] } },
      { test: { ...shared, name: 'temporal', include: ['test/cluster/temporal.test.ts'] } },
    ],
  },
})
