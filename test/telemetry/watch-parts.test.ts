import { expect, test } from 'vitest'
import { createMetrics } from '../../server/telemetry/metrics.ts'
import { watchReadiness } from '../../server/telemetry/watch-parts.ts'

test.each([
  ['ready', async () => true, 1],
  ['not ready', async () => false, 0],
  ['unable to say so', () => Promise.reject(new Error('too late')), 0],
])('a process that is %s shows it', async (_, isReady, shown) => {
  const metrics = createMetrics('api')
  watchReadiness(metrics, isReady)
  expect((await metrics.snapshot()).ready).toEqual([{ labels: [], value: shown }])
})
