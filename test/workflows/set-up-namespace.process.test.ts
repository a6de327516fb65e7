import { Client, ScheduleNotFoundError } from '@temporalio/client'
import { expect, inject, test } from 'vitest'
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.ts'
import { createSetUp } from '../../workflows/set-up-namespace.ts'
import { startTemporal } from '../harness/temporal.ts'
import { untilEnd } from '../harness/until-end.ts'
import { createWorkflowWorld, until } from './world.ts'

const temporal = untilEnd(await startTemporal())
const world = untilEnd(await createWorkflowWorld(temporal.address, inject('workflowBundle')))

const clientOf = (namespace: string) => new Client({ connection: world.connection, namespace })

test('a namespace gets the search attributes it lacks, once, however many workers start', async () => {
  const { workflowService, operatorService } = world.connection
  const namespace = 'bare'
  await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 as never } })
  const setUp = createSetUp(clientOf(namespace))
  await until(() =>
    setUp().then(
      () => true,
      () => false,
    ),
  )
  await Promise.all([setUp(), createSetUp(clientOf(namespace))()])
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace })
  expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining(SEARCH_ATTRIBUTES.map(({ name }) => name)))
})

test('the retention is a Schedule: daily, one at a time, and it runs', async () => {
  const client = clientOf('default')
  await createSetUp(client)()
  const handle = client.schedule.getHandle('retention')
  const { spec, policies } = await handle.describe()
  expect(spec.calendars).toMatchObject([{ hour: [{ start: 2, end: 2 }], minute: [{ start: 30, end: 30 }] }])
  expect(policies.overlap).toBe('SKIP')
  await handle.trigger()
  await until(async () => (await handle.describe()).info.recentActions.length > 0)
  const { info } = await handle.describe()
  const { workflowId } = info.recentActions[0]!.action.workflow
  expect(await client.workflow.getHandle(workflowId).result()).toEqual(['events_20260801'])
})

test('the Schedule of release 0.2 that started a check of domains every minute is removed', async () => {
  const client = clientOf('default')
  const action = { type: 'startWorkflow', workflowType: 'verification', taskQueue: 'webhook-retries' } as const
  const handle = await client.schedule.create({
    scheduleId: 'verification',
    spec: { intervals: [{ every: '1 minute' }] },
    action,
  })
  const setUp = createSetUp(client)
  await setUp()
  await expect(handle.describe()).rejects.toThrow(ScheduleNotFoundError)
  await setUp()
})

test('an operator may change the Schedule: it is created once and then left alone', async () => {
  const client = clientOf('default')
  const handle = client.schedule.getHandle('retention')
  await handle.pause('for a backup')
  await createSetUp(client)()
  expect((await handle.describe()).state.paused).toBe(true)
})
