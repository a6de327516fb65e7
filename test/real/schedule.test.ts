import { TestWorkflowEnvironment } from '@temporalio/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { RETRY_SCHEDULE } from '../../server/config/retry-schedule.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import type { AttemptOnce } from '../../server/webhooks/attempt/attempt-once.ts'
import { createActivities } from '../../workflows/activities.ts'
import { TASK_QUEUES } from '../../workflows/client.ts'
import type { deliverWebhooks } from '../../workflows/deliver-webhooks.ts'
import { bundleWorkflows, runWorkers } from '../../workflows/run-workers.ts'
import { NO_REPLAYS, quiet } from '../workflows/world.ts'
import { timeSkippingServer } from './time-skipping.ts'

// Tests the real retry schedule in a Temporal server that skips time.

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The SDK waits 5 s for the server. On a busy machine Java takes longer to start for the first time. */
const STARTS = 3

async function startServer(path: string, starts = STARTS): Promise<TestWorkflowEnvironment> {
  const executable = { type: 'existing-path', path } as const
  return TestWorkflowEnvironment.createTimeSkipping({ server: { executable } }).catch((error) => {
    if (starts === 1) throw error
    return startServer(path, starts - 1)
  })
}

let environment: TestWorkflowEnvironment
const stopping = new AbortController()
let workers: Promise<void>
let attemptOnce: AttemptOnce
beforeAll(async () => {
  quiet()
  const path = await timeSkippingServer()
  environment = await startServer(path)
  const DELIVERY_STATUS_KEYWORD = { DeliveryStatus: 2 }
  await environment.connection.operatorService.addSearchAttributes({ searchAttributes: DELIVERY_STATUS_KEYWORD })
  workers = runWorkers({
    connection: environment.nativeConnection,
    namespace: 'default',
    workflowBundle: await bundleWorkflows(),
    activities: createActivities({
      attemptOnce: (attempt) => attemptOnce(attempt),
      finishDispatches: async () => {},
      dropExpired: async () => [],
      replays: NO_REPLAYS,
      verifyDue: async () => ({}),
      onError: (error) => console.error(error),
      stopping: stopping.signal,
    }),
    stopping: stopping.signal,
  })
})
afterAll(async () => {
  stopping.abort()
  await workers
  await environment?.teardown()
})

/** Runs a delivery. Returns the minutes after its start at which it made attempts, and its result. */
async function attemptsOf(attempt: (number: number, previous: number) => ReturnType<AttemptOnce>) {
  const minutes: number[] = []
  const startMs = await environment.currentTimeMs()
  attemptOnce = async ({ number }) => {
    minutes.push(Math.round(((await environment.currentTimeMs()) - startMs) / 100 / 6) / 100)
    return attempt(number, minutes.length - 1)
  }
  const dispatchId = publicId('dsp', newId(Date.now()))
  const summary = await environment.client.workflow.execute<typeof deliverWebhooks>('deliverWebhooks', {
    workflowId: `webhook-${dispatchId}-1`,
    taskQueue: TASK_QUEUES.original,
    args: [
      {
        endpoint: 'hooks.example.com',
        scheduleMs: RETRY_SCHEDULE.map(({ delayMs }) => delayMs),
        deadlineMs: startMs + 24 * HOUR_MS,
        rounds: [{ dispatchIds: [dispatchId], attempt: 1, dueMs: startMs }],
      },
    ],
  })
  return { minutes, summary }
}

const fail = async () => ({ state: 'failed', outcome: 'not_200', statusCode: 503 }) as const

test('a delivery makes six attempts: at once, then 1, 5, 15, 60 and 360 minutes after the previous failure', async () => {
  const { minutes, summary } = await attemptsOf(fail)
  const wholeMinutes = minutes.map((minute) => Math.round(minute))
  expect(wholeMinutes).toEqual([0, 1, 6, 21, 81, 441])
  expect(summary).toMatchObject({ exhausted: 1 })
})

test('a delivery to a busy endpoint waits 5 s, doubling to 2 minutes, plus or minus half, and keeps its six attempts', async () => {
  const { minutes, summary } = await attemptsOf(async (_, previous) => (previous < 9 ? { state: 'not_due' } : fail()))
  expect(summary).toMatchObject({ exhausted: 1 })
  const waits = minutes.slice(1, 10).map((minute, index) => (minute - minutes[index]!) * 60)
  for (const [index, wait] of waits.entries()) {
    const backOff = Math.min(5 * 2 ** index, 120)
    expect(wait).toBeGreaterThan(backOff * 0.5 - 2)
    expect(wait).toBeLessThan(backOff * 1.5 + 3)
  }
  expect(minutes).toHaveLength(9 + 6)
})

// About 720 activities run one after the other, which takes 35 s on an idle machine.
const LONG_HISTORY_MS = 400_000
test('a delivery to an endpoint that is always busy is exhausted after the window of 24 hours', {
  timeout: LONG_HISTORY_MS,
}, async () => {
  const { minutes, summary } = await attemptsOf(async () => ({ state: 'not_due' }))
  expect(summary).toMatchObject({ exhausted: 1 })
  expect(minutes.at(-1)).toBeGreaterThan(24 * 60 - 4)
  expect(minutes.at(-1)).toBeLessThanOrEqual(24 * 60)
})
