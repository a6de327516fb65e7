import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { eq } from '../../../server/db/drizzle.ts'
import { newId, publicId } from '../../../server/db/ids.ts'
import { attempts, openDispatches as openDispatchRows } from '../../../server/db/schema.ts'
import { run } from '../../../server/db/statement.ts'
import type { DispatchedEvent } from '../../../server/ledger/first-attempts-offer.ts'
import { type HandOverPass, keepHandingOver } from '../../../server/webhooks/queue/hand-over.ts'
import type { Group, Workflows } from '../../../server/webhooks/queue/workflows.ts'
import { eventually } from '../../harness/eventually.ts'
import { farClock } from '../../harness/far-clock.ts'
import { testDatabase } from '../../harness/postgres.ts'
import { quietFor } from '../../harness/waits.ts'
import { attemptsOf, newEvent, openDispatches, stateOf, storeDispatches, storeEndpoints } from '../rows.ts'

// The loop over a real database. A list takes the calls to Temporal; test/e2e runs the loop with Temporal itself.

const database = await testDatabase()
beforeEach(() => run(database.db, 'truncate open_dispatches'))

const SCHEDULE = [0, 60_000, 300_000]

function loop(workflows: Partial<Omit<Workflows, 'maxGroup'>> = {}, overdueMs = 60_000) {
  const started: Group[] = []
  const reports: (HandOverPass | { error: unknown })[] = []
  const { stop } = keepHandingOver({
    db: database.db,
    scheduleMs: SCHEDULE,
    overdueMs,
    report: (report) => reports.push(report),
    workflows: {
      maxGroup: 50,
      async start(group) {
        started.push(group)
      },
      closed: async () => [],
      terminatedSince: async () => [],
      cancel: async () => {},
      retryNow: async () => {},
      startReplay: async () => {},
      ...workflows,
    },
  })
  onTestFinished(stop)
  return { started, reports, stop }
}

/** Dispatches of accounts that have an endpoint. */
async function store(events: DispatchedEvent[], state?: Parameters<typeof storeDispatches>[2]): Promise<void> {
  await storeEndpoints(database, events)
  await storeDispatches(database, events, state)
}

const account = () => newId(Date.now())
const some = (count: number, accountId = account()) => Array.from({ length: count }, () => newEvent(accountId))

const idsOf = ({ dispatches }: Group) => dispatches.map(({ id }) => id)

test('failures of one endpoint go into groups of 50, and the id of each group is committed before its workflow starts', async () => {
  const events = some(120)
  await store(events, { attempt: 2, due: 58 })
  const unknownIds: unknown[] = []
  const { started } = loop({
    async start(group) {
      for (const row of await openDispatches(
        database,
        events.filter(({ id }) => idsOf(group).includes(id)),
      ))
        if (row.workflowId !== group.workflowId) unknownIds.push(row)
      started.push(group)
    },
  })
  await eventually(() => expect(started).toHaveLength(3))
  expect(started.map(({ dispatches }) => dispatches.length).sort()).toEqual([20, 50, 50])
  expect(started.flatMap(idsOf).sort()).toEqual(events.map(({ id }) => id).sort())
  expect(unknownIds).toEqual([])
  for (const group of started) {
    expect(group).toMatchObject({ kind: 'original', attempt: 2 })
    expect(group.workflowId).toMatch(/^webhook-whk_[0-9a-z]{26}-evt_[0-9a-z]{26}-[0-9a-z]{10}$/)
    expect(group.dueMs).toBeGreaterThan(Date.now() + 50_000)
  }
  await eventually(async () => {
    const rows = await openDispatches(database, events)
    expect(rows.every((row) => row.handedOverAt !== null)).toBe(true)
  })
})

test('while starts are slow, events that fail one by one go into larger groups, and those that are due for longest first', async () => {
  const accounts = Array.from({ length: 130 }, account)
  // One event every ten seconds for each endpoint. The last endpoints have the oldest events.
  const failures = accounts.flatMap((accountId, i) =>
    Array.from({ length: 6 }, (_, n) => ({ event: newEvent(accountId), due: -i - 10 * n })),
  )
  await storeEndpoints(
    database,
    failures.map(({ event }) => event),
  )
  for (const [due, some] of Map.groupBy(failures, (failure) => failure.due))
    await storeDispatches(
      database,
      some.map(({ event }) => event),
      { attempt: 2, due },
    )
  const temporal = Promise.withResolvers<void>()
  const { started } = loop({
    async start(group) {
      started.push(group)
      await temporal.promise
    },
  })
  await eventually(() => expect(started).toHaveLength(10))
  const rows = await openDispatches(
    database,
    failures.map(({ event }) => event),
  )
  expect(new Set(rows.map(({ workflowId }) => workflowId)).size).toBe(100 + 1)
  expect(new Set(started.map(({ accountId }) => accounts.indexOf(accountId) >= 30))).toEqual(new Set([true]))
  temporal.resolve()
  await eventually(() => expect(started).toHaveLength(130))
  expect(new Set(started.map(({ dispatches }) => dispatches.length))).toEqual(new Set([6]))
})

test.each([
  ['more than a pass takes', Array(4).fill({ count: 1_500, attempt: 1, due: -60 })],
  ['more groups than a pass starts', Array.from({ length: 140 }, (_, i) => ({ count: 1, attempt: 3, due: 2.1 * i }))],
])("what waits for one account, %s, leaves a share of each pass to the others'", async (_, theirs) => {
  const temporal = Promise.withResolvers<void>()
  onTestFinished(() => temporal.resolve())
  const accountId = account()
  for (const { count, ...state } of theirs) await store(some(count, accountId), state)
  const other = some(1)
  await store(other, { attempt: 3, due: 296 })
  // No pass follows before the first start ends.
  const { started } = loop({
    async start(group) {
      started.push(group)
      await temporal.promise
    },
  })
  await eventually(() => expect(started).toHaveLength(10))
  expect(await openDispatches(database, other)).toMatchObject([{ workflowId: expect.any(String) }])
})

test('a failed attempt waits a second for others to join; a first attempt does not wait', async () => {
  const accountId = account()
  const late = some(1, accountId)
  const first = some(1, accountId)
  await store(first)
  await store(late, { attempt: 2, due: 63 })
  const { started } = loop()
  await eventually(() => expect(started.map(({ attempt }) => attempt)).toEqual([1]))
  await eventually(() => expect(started.map(({ attempt }) => attempt)).toEqual([1, 2]))
})

test('an attempt that another process may be making is left alone until its lease is over; it is then stored as unknown', async () => {
  const [event] = some(1)
  await store([event!], { lease: 1.2 })
  const { started } = loop()
  await quietFor(900)
  expect(started).toEqual([])
  await eventually(() => expect(started).toHaveLength(1))
  expect(started[0]).toMatchObject({ attempt: 1, dispatches: [{ id: event!.id }] })
  expect(await attemptsOf(database, event!)).toMatchObject([{ number: 1, outcome: 'unknown', finishedAt: null }])
})

test('a lease from before the worker is found at its start, and one from before a jump of the clock within ten minutes', async () => {
  const hoursAgo = (hours: number) => newEvent(account(), { dispatchId: newId(Date.now() - hours * 3_600_000) })
  await run(database.db, 'create table attempts_of_other_days partition of attempts default')
  onTestFinished(async () => void (await run(database.db, 'drop table attempts_of_other_days')))
  const [before, jumped, young] = [hoursAgo(40), hoursAgo(2), hoursAgo(0)]
  const lost = { lease: -1 }
  const { advance } = farClock()
  await store([before], lost)
  const { started } = loop()
  await eventually(() => expect(started.flatMap(idsOf)).toEqual([before.dispatchId]))
  await store([jumped], lost)
  await store([young], lost)
  await eventually(() => expect(started.flatMap(idsOf)).toEqual([before.dispatchId, young.dispatchId]))
  expect(await attemptsOf(database, jumped)).toEqual([])
  advance(600_000)
  await eventually(() =>
    expect(started.flatMap(idsOf)).toEqual([before.dispatchId, young.dispatchId, jumped.dispatchId]),
  )
})

test('a workflow continues the trace of its dispatches when they have the same one', async () => {
  const [trace, other] = ['a', 'b'].map((digit) => `00-${digit.repeat(32)}-${'1'.repeat(16)}-01`)
  const cases = { same: [trace, trace], different: [trace, other], partial: [trace, null], none: [null, null] }
  for (const [workflowId, traces] of Object.entries(cases)) {
    const events = some(2)
    await store(events, { workflowId })
    for (const [i, traceparent] of traces.entries())
      await database.db.update(openDispatchRows).set({ traceparent }).where(eq(openDispatchRows.id, events[i]!.id))
  }
  const { started } = loop()
  await eventually(() => expect(started).toHaveLength(4))
  const traceOf = Object.fromEntries(started.map(({ workflowId, traceparent }) => [workflowId, traceparent]))
  expect(traceOf).toEqual({ same: trace, different: undefined, partial: undefined, none: undefined })
})

test('a workflow learns how the attempt before ended, and when the window of each dispatch is over', async () => {
  const [refused, unreachable, fresh] = some(3)
  const accountId = refused!.accountId
  await store([refused!, unreachable!], { attempt: 2, due: -1, workflowId: 'webhook-two', deadline: 3_600 })
  await store([fresh!], { workflowId: 'webhook-one' })
  const attempt = { accountId, number: 1, startedAt: new Date(), finishedAt: new Date(), urlVersion: 0 }
  await database.db.insert(attempts).values([
    { ...attempt, dispatchId: refused!.id, outcome: 'not_200', statusCode: 503 },
    { ...attempt, dispatchId: unreachable!.id, outcome: 'connect', cause: 'ECONNREFUSED' },
  ])
  const { started, reports } = loop()
  await eventually(() => expect(started).toHaveLength(2))
  const resultOf = new Map(started.flatMap(({ dispatches }) => dispatches.map((one) => [one.id, one.previousResult])))
  expect(resultOf.get(refused!.id)).toEqual({ outcome: 'not_200', statusCode: 503 })
  expect(resultOf.get(unreachable!.id)).toEqual({ outcome: 'connect', cause: 'ECONNREFUSED' })
  expect(resultOf.get(fresh!.id)).toBeUndefined()
  const two = started.find(({ workflowId }) => workflowId === 'webhook-two')!
  expect(two).toMatchObject({ accountId, endpointId: accountId, endpointHost: 'hooks.example.com', attempt: 2 })
  for (const { deadlineMs } of two.dispatches) expect(Math.round(deadlineMs - two.dueMs)).toBe(3_601_000)
  await eventually(() => expect(reports).toEqual([{ started: 2, revived: 0 }]))
})

test('while Temporal is away a pass tries the first ten starts and no more, and reports one error', async () => {
  for (let i = 0; i < 25; i++) await store(some(1))
  const reportsBefore: number[] = []
  const { reports } = loop({
    async start(): Promise<void> {
      reportsBefore.push(reports.length)
      throw new Error('Temporal is away')
    },
  })
  await eventually(() => expect(reports.length).toBeGreaterThanOrEqual(2))
  expect(reportsBefore.slice(0, 20)).toEqual([...Array(10).fill(0), ...Array(10).fill(1)])
})

test('a dispatch whose endpoint is gone is cancelled, and no workflow is started for it', async () => {
  const gone = account()
  const [failed, neverMade, other] = [...some(2, gone), ...some(1)]
  await storeDispatches(database, [failed!], { attempt: 2, due: 58 })
  await storeDispatches(database, [neverMade!])
  await store([other!])
  const { started } = loop()
  await eventually(() => expect(started).toHaveLength(1))
  expect(idsOf(started[0]!)).toEqual([other!.id])
  for (const event of [failed!, neverMade!]) expect(await stateOf(database, event)).toBe('cancelled')
})

test('while Temporal is away rows keep their workflow ids, and the workflows are started later with the same ids', async () => {
  const events = some(3)
  await store(events)
  let isAway = true
  const workflowIds = new Set<string>()
  const { reports, started } = loop({
    async start(group) {
      workflowIds.add(group.workflowId)
      if (isAway) throw new Error('Temporal is away')
      started.push(group)
    },
  })
  await eventually(() => expect(reports.filter((report) => 'error' in report).length).toBeGreaterThan(1))
  isAway = false
  await eventually(() => expect(started).toHaveLength(1))
  expect([...workflowIds]).toEqual([started[0]!.workflowId])
  expect(started[0]!.dispatches).toHaveLength(3)
})

test('a workflow that cannot be started does not delay the others', async () => {
  const accounts = Array.from({ length: 15 }, () => some(1))
  for (const events of accounts) await store(events)
  const poisonous = accounts
    .flat()
    .map(({ id }) => id)
    .sort()[0]!
  const { started, reports } = loop({
    async start(group) {
      if (idsOf(group).includes(poisonous)) throw new Error('refused')
      started.push(group)
    },
  })
  await eventually(() => expect(new Set(started.map(({ workflowId }) => workflowId)).size).toBe(14))
  await eventually(() => expect(reports.some((report) => 'error' in report)).toBe(true))
})

test('two loops start exactly one workflow for every dispatch', async () => {
  const events = some(300)
  await store(events, { attempt: 2, due: 50 })
  const [one, two] = [loop(), loop()]
  await eventually(async () => {
    const rows = await openDispatches(database, events)
    expect(rows.every((row) => row.handedOverAt !== null)).toBe(true)
  })
  const groups = new Map([...one.started, ...two.started].map((group) => [group.workflowId, idsOf(group)]))
  const assigned = [...groups.values()].flat()
  expect(assigned).toHaveLength(300)
  expect(new Set(assigned).size).toBe(300)
})

test('an overdue attempt whose workflow is gone gets another workflow; one whose workflow runs is left alone', async () => {
  const [gone, running] = [some(2), some(1)]
  await store(gone, { attempt: 3, due: -2, workflowId: 'webhook-gone-2', handedOver: true })
  await store(running, { attempt: 3, due: -2, workflowId: 'webhook-runs-2', handedOver: true })
  const looked: string[][] = []
  const { started, reports } = loop(
    {
      async closed(ids) {
        looked.push([...ids].sort())
        return ids.filter((id) => id === 'webhook-gone-2')
      },
    },
    1_000,
  )
  await eventually(() => expect(started).toHaveLength(1))
  expect(looked[0]).toEqual(['webhook-gone-2', 'webhook-runs-2'])
  expect(started[0]).toMatchObject({ workflowId: 'webhook-gone-2-r1', attempt: 3 })
  expect(idsOf(started[0]!).sort()).toEqual(gone.map(({ id }) => id).sort())
  expect(await openDispatches(database, running)).toMatchObject([{ workflowId: 'webhook-runs-2' }])
  await eventually(() => expect(reports).toEqual([{ started: 1, revived: 1 }]))
})

test('a workflow that was terminated is replaced at once, long before its next attempt is due, and one that was reset is left alone', async () => {
  const [terminated, reset, busy] = [some(1), some(1), some(1)]
  const state = { attempt: 3, due: 3_600, handedOver: true }
  await store(terminated, { ...state, workflowId: 'webhook-terminated-3' })
  await store(reset, { ...state, workflowId: 'webhook-reset-3' })
  await store(busy, { ...state, workflowId: 'webhook-busy-3', started: true })
  const asked: number[] = []
  const { started, reports } = loop({
    async terminatedSince(ms) {
      asked.push(ms)
      return ['webhook-terminated-3', 'webhook-reset-3', 'webhook-busy-3', 'webhook-over-2']
    },
    closed: async (ids) => ids.filter((id) => id !== 'webhook-reset-3'),
  })
  await eventually(() => expect(started).toHaveLength(1))
  expect(started[0]).toMatchObject({ workflowId: 'webhook-terminated-3-r1', attempt: 3 })
  expect(started[0]!.dueMs).toBeGreaterThan(Date.now() + 3_000_000)
  expect(await openDispatches(database, reset)).toMatchObject([{ workflowId: 'webhook-reset-3' }])
  expect(await openDispatches(database, busy)).toMatchObject([{ workflowId: 'webhook-busy-3' }])
  await quietFor(1_200)
  expect(reports).toEqual([{ started: 1, revived: 1 }])
  expect(asked).toHaveLength(1)
  expect(Date.now() - asked[0]!).toBeGreaterThan(500_000)
})

test('a replay whose caller was killed before its workflow was started is started after ten seconds', async () => {
  const [young, old] = [some(1), some(1)]
  const id = (event: { id: string }) => `replay-${publicId('dsp', event.id)}`
  await store(young, { kind: 'replay', workflowId: id(young[0]!), age: 1 })
  await store(old, { kind: 'replay', workflowId: id(old[0]!), age: 11 })
  const { started } = loop()
  await eventually(() => expect(started).toHaveLength(1))
  await quietFor(700)
  expect(started).toMatchObject([{ workflowId: id(old[0]!), kind: 'replay' }])
})

test.each([
  ['wait for their start', { handedOver: false }],
  ['are overdue and gone', { handedOver: true, due: -3_600 }],
])('workflows of one account that %s delay no other account', async (_, state) => {
  const many = account()
  const [crowd, other, late] = [some(400, many), some(1), some(1)]
  for (const [i, event] of crowd.entries())
    await store([event], { attempt: 2, due: -60, workflowId: `a-${String(i).padStart(3, '0')}`, ...state })
  await store(other, { attempt: 2, due: -30, workflowId: 'z-other', ...state })
  await store(late, { attempt: 2, due: -10 })
  const { started } = loop({ closed: async (ids) => ids })
  await eventually(() => expect(started.length).toBeGreaterThanOrEqual(200))
  const first = started.slice(0, 200).flatMap(idsOf)
  expect(first).toEqual(expect.arrayContaining([...other, ...late].map(({ id }) => id)))
})
