import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import './test/harness/compile-cache.ts'
import { LongestFirst } from './test/harness/longest-first.ts'

/** Each file starts and ends processes by the dozen, and waits for them about half of its time. */
const WITH_PROCESSES = Math.ceil(1.5 * availableParallelism())

const shared = {
  // A machine that is busy with other work starts a process in seconds. No promise is about the time of a whole run.
  testTimeout: 1_200_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
}

/** `npm run faults`: the long fault runs, about ten minutes, and the attacks after them another eight. */
export default defineConfig({
  test: {
    globalSetup: ['test/harness/global-postgres.ts', 'test/harness/global-temporal.ts'],
    teardownTimeout: 20_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          exclude: ['test/faults/{others,quick,webhooks}/**'],
          sequence: { groupOrder: 0 },
          maxWorkers: WITH_PROCESSES,
        },
      },
      {
        test: {
          ...shared,
          name: 'webhooks',
          include: ['test/faults/webhooks/**/*.test.ts'],
          sequence: { groupOrder: 0 },
          maxWorkers: WITH_PROCESSES,
        },
      },
      // Short runs of the same faults, which are part of `npm run test:processes`, too.
      {
        test: {
          ...shared,
          name: 'quick',
          include: ['test/faults/quick/**/*.test.ts'],
          sequence: { groupOrder: 0 },
          maxWorkers: WITH_PROCESSES,
        },
      },
      {
        test: {
          ...shared,
          name: 'others',
          include: ['test/faults/others/**/*.test.ts'],
          sequence: { groupOrder: 1 },
          // These hold times to bars: nothing runs beside them.
          maxWorkers: 1,
        },
      },
    ],
  },
})
