import { ApplicationFailure, CancelledFailure } from '@temporalio/activity'
import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import { expect, test } from 'vitest'
import { newId, showId } from '../../server/db/ids.ts'
import type { DeliverOnce } from '../../server/webhooks/deliver-once.ts'
import { type Activities, type Attempt, type Attempted, createActivities } from '../../workflows/activities.ts'
import { GROUPS_PER_ENDPOINT, POSTS_PER_ENDPOINT } from '../../workflows/limits.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { acked, http, until } from './world.ts'

const stopping = new AbortController()
const faults: unknown[] = []

function activitiesOf(deliverOnce: DeliverOnce): Activities {
  return createActivities({
    deliverOnce,
    finishDispatches: async () => {},
    dropExpired: async () => [],
    verifyDue: async () => ({}),
    failed: (error) => faults.push(error),
    stopping: stopping.signal,
  })
}

function group(size: number, endpoint = 'hooks.example.com'): Attempt {
  const dispatchIds = Array.from({ length: size }, () => showId('dsp', newId(Date.now())))
  return { dispatchIds, attempt: 2, endpoint, nextDelayMs: 1_000 }
}

const environment = (taskQueue = 'webhook-retries') =>
  new MockActivityEnvironment({ taskQueue }, { logger: new DefaultLogger('ERROR') })

function run({ attemptDispatches }: Activities, attempt: Attempt, taskQueue?: string): Promise<Attempted> {
  return environment(taskQueue).run(attemptDispatches, attempt)
}

test('no more than so many POSTs are in flight to one endpoint, over all of its groups', async () => {
  let inFlight = 0
  let most = 0
  const activities = activitiesOf(async () => {
    most = Math.max(most, ++inFlight)
    await new Promise((resolve) => setTimeout(resolve, 5))
    inFlight--
    return acked
  })
  const made = await Promise.all([run(activities, group(50)), run(activities, group(50), 'webhook-replays')])
  expect(made.map(({ acknowledged }) => acknowledged)).toEqual([50, 50])
  expect(most).toBe(POSTS_PER_ENDPOINT)
})

test('an endpoint that hangs has a tenth of the slots and no more; what finds none is busy within a second, and nobody else notices', async () => {
  const hanging = Promise.withResolvers<void>()
  const activities = activitiesOf(async () => {
    await hanging.promise
    return http(503)
  })
  const held = Array.from({ length: GROUPS_PER_ENDPOINT }, () => run(activities, group(1)))
  const late = group(3)
  const watch = stopwatch()
  expect(await run(activities, late)).toEqual({ acknowledged: 0, over: 0, failed: [], busy: late.dispatchIds })
  expect(watch.ms()).toBeLessThan(1_500)
  const other = run(activities, group(1, 'other.example.com'))
  const replay = run(activities, group(1), 'webhook-replays')
  hanging.resolve()
  for (const { failed, busy } of await Promise.all([...held, other, replay])) {
    expect([failed.length, busy.length]).toEqual([1, 0])
  }
})

test('a dispatch that found no place at the origin, or is not due, comes back as busy', async () => {
  const states = ['no_place', 'not_due', 'ended'] as const
  let made = 0
  const activities = activitiesOf(async () => ({ state: states[made++]! }))
  const three = group(3)
  const expected = { acknowledged: 0, over: 1, failed: [], busy: three.dispatchIds.slice(0, 2) }
  expect(await run(activities, three)).toMatchObject(expected)
})

test('the answers of those that failed are told, the most frequent first', async () => {
  let made = 0
  const activities = activitiesOf(async () => {
    made++
    if (made === 1) return acked
    return made < 4 ? { state: 'failed', outcome: 'connect' } : http(made < 10 ? 503 : 500)
  })
  const { lastAnswer, failed } = await run(activities, group(10))
  expect(lastAnswer).toBe('HTTP 503 (6), no connection (2), HTTP 500 (1)')
  expect(failed).toHaveLength(9)
})

test('a fault of ours is thrown after all others have ended, and its words stay out of the history', async () => {
  let ended = 0
  const activities = activitiesOf(async () => {
    if (ended++ === 0) throw new Error('Failed query: select 1\nparams: ann@example.net,whsec_c2VjcmV0')
    await new Promise((resolve) => setTimeout(resolve, 50))
    ended++
    return acked
  })
  const fault: ApplicationFailure = await run(activities, group(4)).then(Promise.reject, (error) => error)
  expect(fault).toBeInstanceOf(ApplicationFailure)
  expect(fault.nonRetryable).toBeFalsy()
  expect(`${fault.message} ${fault.stack}`).not.toMatch(/ann@|whsec_/)
  expect(ended).toBe(7)
  expect(String(faults.at(-1))).toContain('whsec_')
})

test('when the workflow is cancelled, POSTs in flight hear it and no further one is begun', async () => {
  let begun = 0
  const activities = activitiesOf(async ({ signal }) => {
    begun++
    await new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason)))
    return acked
  })
  const env = environment()
  const running = env.run(activities.attemptDispatches, group(50)).catch((error) => error)
  await until(() => begun === POSTS_PER_ENDPOINT)
  env.cancel('CANCELLED')
  expect(await running).toBeInstanceOf(CancelledFailure)
  expect(begun).toBe(POSTS_PER_ENDPOINT)
})

test('when the worker stops, POSTs in flight end and no further one is begun', async () => {
  let begun = 0
  const posting = Promise.withResolvers<void>()
  const activities = activitiesOf(async () => {
    begun++
    await posting.promise
    return acked
  })
  const running = run(activities, group(50)).catch((error) => error)
  await until(() => begun === POSTS_PER_ENDPOINT)
  stopping.abort()
  posting.resolve()
  expect(await running).toBeInstanceOf(ApplicationFailure)
  expect(begun).toBe(POSTS_PER_ENDPOINT)
})
