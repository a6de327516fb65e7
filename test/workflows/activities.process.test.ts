import { ApplicationFailure, CancelledFailure } from '@temporalio/activity'
import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import { expect, test } from 'vitest'
import { newId, publicId } from '../../server/db/ids.ts'
import type { AttemptOnce } from '../../server/webhooks/attempt/attempt-once.ts'
import { type Activities, createActivities, type GroupAttempt, type GroupResult } from '../../workflows/activities.ts'
import { ACTIVITY_SLOTS, GROUPS_PER_ENDPOINT, POSTS_PER_ENDPOINT, SLOT_WAIT_MS } from '../../workflows/worker-limits.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { takes } from '../harness/waits.ts'
import { acked, http, NO_REPLAYS, until } from './world.ts'

const stopping = new AbortController()
const faults: unknown[] = []

function activitiesOf(attemptOnce: AttemptOnce): Activities {
  return createActivities({
    attemptOnce,
    finishDispatches: async () => {},
    dropExpired: async () => [],
    replays: NO_REPLAYS,
    verifyDue: async () => ({}),
    onError: (error) => faults.push(error),
    stopping: stopping.signal,
  })
}

function group(size: number, endpoint = 'hooks.example.com', account?: string): GroupAttempt {
  const dispatchIds = Array.from({ length: size }, () => publicId('dsp', newId(Date.now())))
  return { dispatchIds, attempt: 2, account, endpoint, nextDelayMs: 1_000 }
}

const environment = (taskQueue = 'webhook-retries') =>
  new MockActivityEnvironment({ taskQueue }, { logger: new DefaultLogger('ERROR') })

function run({ attemptDispatches }: Activities, attempt: GroupAttempt, taskQueue?: string): Promise<GroupResult> {
  return environment(taskQueue).run(attemptDispatches, attempt)
}

test('the groups of one endpoint share a limit of POSTs in flight', async () => {
  let inFlight = 0
  let most = 0
  const activities = activitiesOf(async () => {
    most = Math.max(most, ++inFlight)
    await takes(5)
    inFlight--
    return acked
  })
  const results = await Promise.all([run(activities, group(50)), run(activities, group(50), 'webhook-replays')])
  expect(results.map(({ acknowledged }) => acknowledged)).toEqual([50, 50])
  expect(most).toBe(POSTS_PER_ENDPOINT)
})

test('a hanging endpoint has at most a tenth of the slots; a group that finds none is busy within a second, and other endpoints go on', async () => {
  const hanging = Promise.withResolvers<void>()
  const activities = activitiesOf(async () => {
    await hanging.promise
    return http(503)
  })
  const runs = Array.from({ length: GROUPS_PER_ENDPOINT }, () => run(activities, group(1)))
  const late = group(3)
  const watch = stopwatch()
  expect(await run(activities, late)).toEqual({ acknowledged: 0, over: 0, failed: [], busy: late.dispatchIds })
  // The promised second, and half of one for the rest.
  expect(watch.ms()).toBeLessThan(1_500)
  const other = run(activities, group(1, 'other.example.com'))
  const replay = run(activities, group(1), 'webhook-replays')
  hanging.resolve()
  for (const { failed, busy } of await Promise.all([...runs, other, replay])) {
    expect([failed.length, busy.length]).toEqual([1, 0])
  }
})

test('an account with ten endpoints has at most half of the slots, which nine that hang leave to the tenth', async () => {
  const hanging = Promise.withResolvers<void>()
  const attempts: string[] = []
  const activities = activitiesOf(async ({ dispatchId }) => {
    attempts.push(dispatchId)
    if (attempts.length <= held) await hanging.promise
    return acked
  })
  let held = Infinity
  const runs = Array.from({ length: ACTIVITY_SLOTS }, (_, i) => run(activities, group(1, `whk_${i % 9}`, 'acc_ten')))
  // Those that waited for a slot are busy.
  await takes(SLOT_WAIT_MS + 100)
  held = attempts.length
  expect(held).toBeGreaterThan(ACTIVITY_SLOTS / 4)
  expect(held).toBeLessThanOrEqual(ACTIVITY_SLOTS / 2)
  expect(await run(activities, group(1, 'whk_9', 'acc_ten'))).toMatchObject({ acknowledged: 1 })
  expect(await run(activities, group(1, 'whk_other', 'acc_other'))).toMatchObject({ acknowledged: 1 })
  hanging.resolve()
  const results = await Promise.all(runs)
  expect(results.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBe(held)
  expect(results.reduce((sum, { busy }) => sum + busy.length, 0)).toBe(ACTIVITY_SLOTS - held)
})

test('a dispatch that gets no slot at the origin, or is not due, comes back as busy', async () => {
  const states = ['no_slot', 'not_due', 'ended'] as const
  let calls = 0
  const activities = activitiesOf(async () => ({ state: states[calls++]! }))
  const three = group(3)
  const expected = { acknowledged: 0, over: 1, failed: [], busy: three.dispatchIds.slice(0, 2) }
  expect(await run(activities, three)).toMatchObject(expected)
})

test('the result names the responses of failed attempts, the most frequent first', async () => {
  let calls = 0
  const activities = activitiesOf(async () => {
    calls++
    if (calls === 1) return acked
    return calls < 4 ? { state: 'failed', outcome: 'connect' } : http(calls < 10 ? 503 : 500)
  })
  const { lastAnswer, failed } = await run(activities, group(10))
  expect(lastAnswer).toBe('HTTP 503 (6), no connection (2), HTTP 500 (1)')
  expect(failed).toHaveLength(9)
})

test('a fault of the service is thrown after all other attempts have ended, and its text stays out of the history', async () => {
  let attempts = 0
  const activities = activitiesOf(async () => {
    if (attempts++ === 0) throw new Error('Failed query: select 1\nparams: ann@example.net,whsec_c2VjcmV0')
    await takes(50)
    attempts++
    return acked
  })
  const fault: ApplicationFailure = await run(activities, group(4)).then(Promise.reject, (error) => error)
  expect(fault).toBeInstanceOf(ApplicationFailure)
  expect(fault.nonRetryable).toBeFalsy()
  expect(`${fault.message} ${fault.stack}`).not.toMatch(/ann@|whsec_/)
  expect(attempts).toBe(7)
  expect(String(faults.at(-1))).toContain('whsec_')
})

test('when the workflow is cancelled, POSTs in flight are aborted and no further one begins', async () => {
  let posts = 0
  const activities = activitiesOf(async ({ signal }) => {
    posts++
    await new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason)))
    return acked
  })
  const env = environment()
  const running = env.run(activities.attemptDispatches, group(50)).catch((error) => error)
  await until(() => posts === POSTS_PER_ENDPOINT)
  env.cancel('CANCELLED')
  expect(await running).toBeInstanceOf(CancelledFailure)
  expect(posts).toBe(POSTS_PER_ENDPOINT)
})

test('when the worker stops, POSTs in flight end and no further one begins', async () => {
  let posts = 0
  const posting = Promise.withResolvers<void>()
  const activities = activitiesOf(async () => {
    posts++
    await posting.promise
    return acked
  })
  const running = run(activities, group(50)).catch((error) => error)
  await until(() => posts === POSTS_PER_ENDPOINT)
  stopping.abort()
  posting.resolve()
  expect(await running).toBeInstanceOf(ApplicationFailure)
  expect(posts).toBe(POSTS_PER_ENDPOINT)
})
