import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/harness/longest-first.ts'
import { MOSTLY_WAITING, PROCESSES, sharing } from './vitest.config.ts'

/** `npm run test:processes`: these need Temporal, which a new machine has to build first. */
export default defineConfig({
  test: {
    globalSetup: ['test/harness/global-postgres.ts', 'test/harness/global-temporal.ts'],
    teardownTimeout: 20_000,
    sequence: { sequencer: LongestFirst },
    projects: [{ test: { ...sharing, name: 'processes', include: [PROCESSES], maxWorkers: MOSTLY_WAITING } }],
  },
})
