import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { createServiceImplSpec } from '@connectrpc/connect'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  type Replay,
  ReplayFilterSchema,
  ReplayService,
  ReplayState,
} from '../../../gen/verdict/admin/v1/replays_pb.ts'
import { DeliveryStatus } from '../../../gen/verdict/v1/outcomes_pb.ts'
import { createReplayService } from '../../../server/admin/replays.ts'
import { and, asc, eq, inArray, sql } from '../../../server/db/drizzle.ts'
import { firstIdAt, newId, parsePublicId, publicId, timeOfId } from '../../../server/db/ids.ts'
import { auditEntries, rangeReplays } from '../../../server/db/people-schema.ts'
import { dispatches, events, openDispatches, webhookEndpoints } from '../../../server/db/schema.ts'
import { run } from '../../../server/db/statement.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import { NO_TRACING } from '../../../server/telemetry/tracing.ts'
import { finishDispatches } from '../../../server/webhooks/attempt/end.ts'
import type { Group, Workflows } from '../../../server/webhooks/queue/workflows.ts'
import { countEvents, countNewest } from '../../../server/webhooks/replays/count-events.ts'
import { createRangeReplays, resumeReplays } from '../../../server/webhooks/replays/range-replays.ts'
import { replayDispatchId } from '../../../server/webhooks/replays/replay-ids.ts'
import { testAccount } from '../../harness/account.ts'
import { farClock } from '../../harness/far-clock.ts'
import { startDashboard } from '../../harness/person.ts'
import { newEvent } from '../rows.ts'

// Replays of many events: how they are counted, started, dispatched step by step, and ended.

const MINUTE = 60_000

const groups: Group[] = []
const started: string[] = []
const retried: string[] = []
let temporal: () => Promise<void> = async () => {}
const workflows: Workflows = {
  maxGroup: 50,
  start: async (group: Group) => temporal().then(() => void groups.push(group)),
  startReplay: async ({ id }: { id: string }) => temporal().then(() => void started.push(id)),
  retryNow: async (workflowId: string, id: string) => temporal().then(() => void retried.push(`${workflowId} ${id}`)),
  closed: async () => [],
  terminatedSince: async () => [],
  cancel: async () => {},
}
const errors: unknown[] = []
const report = (error: unknown) => void errors.push(error)

const world = await testAccount()
const { db, clock } = world
const service = createReplayService({
  db,
  clock,
  workflows,
  workflowLink: async (id) => ({ url: `http://temporal.test/${id}` }),
  deliveryViews: () => [],
  report,
})
const dashboard = await startDashboard({
  db,
  clock,
  services: [createServiceImplSpec<typeof ReplayService>(ReplayService, service)],
})
beforeEach(() => {
  temporal = async () => {}
  for (const list of [groups, started, retried, errors]) list.length = 0
})

/** A new account with an endpoint, and a person of it. */
async function account(kinds: ('email.delivery' | 'email.feedback')[] | null = ['email.delivery']) {
  const { db, clock } = world
  const { id } = await createAccount(db, clock, 'Test')
  if (kinds) {
    const endpoint = { url: 'https://hooks.example.com/', secret: Buffer.of(), events: kinds }
    await db.insert(webhookEndpoints).values({ id, accountId: id, first: true, ...endpoint })
  }
  const person = await dashboard.person({ accountId: id })
  return { id, person, replays: person.client(ReplayService) }
}

/** Stores events of an account, a millisecond apart. The first is `minutes` old. */
async function store(accountId: string, count: number, change: Partial<typeof events.$inferInsert> = {}, minutes = 30) {
  const firstMs = Math.floor(world.clock.now()) - minutes * MINUTE
  const rows = Array.from({ length: count }, (_, i) => {
    const createdAtMs = firstMs + i
    const ids = { id: newId(createdAtMs), messageId: newId(createdAtMs), createdAtMs }
    return { ...newEvent(accountId, ids), ...change, createdAt: new Date(createdAtMs) }
  })
  await world.db.insert(events).values(rows)
  return rows.map(({ id, messageId }) => ({ id, messageId }))
}

const replaysOf = (parts: Partial<Workflows> = {}) =>
  createRangeReplays({ db: world.db, workflows: { ...workflows, ...parts }, report })
const idOf = (replay?: Replay) => ({ replayId: replay!.replayId })
const uuidOf = ({ replayId }: Replay) => parsePublicId('rpl', replayId)!

/** Makes the steps of a replay as its workflow does, without its waits. */
async function walk(replay: Replay, { dispatchNext } = replaysOf()) {
  const steps = []
  for (;;) {
    const step = await dispatchNext(uuidOf(replay))
    steps.push(step)
    if (step.state !== 'running' || steps.length > 100) return steps
  }
}

/** The ids of the events that an account's replays have dispatched, in the order of the dispatches. */
async function dispatched(accountId: string): Promise<string[]> {
  const { eventId, id } = openDispatches
  const rows = await world.db
    .select({ eventId })
    .from(openDispatches)
    .where(and(eq(openDispatches.accountId, accountId), eq(openDispatches.kind, 'replay')))
    .orderBy(asc(id))
  return rows.map((row) => row.eventId)
}

const ago = (minutes: number) => timestampFromMs(Math.floor(world.clock.now()) - minutes * MINUTE)
const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id)

const acknowledge = async (
  accountId: string,
  kind: 'original' | 'replay',
  eventIds: string[],
  now = world.clock.now(),
) => {
  const row = {
    messageId: newId(now),
    accountId,
    endpointId: accountId,
    kind,
    state: 'acknowledged',
    createdAt: sql`now()`,
    endedAt: sql`now()`,
  }
  await world.db
    .insert(dispatches)
    .values(eventIds.map((eventId) => ({ ...row, eventId, id: kind === 'original' ? eventId : newId(now) })))
}

test('a replay dispatches every event of its range once, the oldest first, in groups of up to 50', async () => {
  const { id, replays, person } = await account()
  await store(id, 3, {}, 90)
  const rows = await store(id, 120)
  const filter = { from: ago(60), to: ago(1) }
  expect(await replays.countEvents({ filter })).toMatchObject({ count: 120, more: false })
  const { replay } = await replays.startReplay({ filter, perSecond: 70 })
  expect(replay).toMatchObject({
    state: ReplayState.RUNNING,
    perSecond: 70,
    total: 120,
    dispatched: 0,
    acknowledged: 0,
  })
  expect(replay).toMatchObject({ createdBy: person.email, filter: { notAcknowledged: false } })
  expect(replay!.workflowUrl).toBe(`http://temporal.test/replay-${replay!.replayId}`)
  expect(started).toEqual([uuidOf(replay!)])

  const steps = await walk(replay!)
  expect(steps.map(({ dispatched, waitMs }) => [dispatched, waitMs])).toEqual([
    [70, 1_000],
    [120, 0],
  ])
  expect(await dispatched(id)).toEqual(idsOf(rows))
  expect(groups.map(({ kind, dispatches }) => [kind, dispatches.length])).toEqual([
    ['replay', 50],
    ['replay', 20],
    ['replay', 50],
  ])
  const open = await world.db.select().from(openDispatches).where(eq(openDispatches.accountId, id))
  expect(open.every(({ handedOverAt, workflowId }) => handedOverAt && workflowId?.startsWith('replay-whk_'))).toBe(true)
  const ended = (await replays.getReplay({ replayId: replay!.replayId })).replay
  expect(ended).toMatchObject({ state: ReplayState.FINISHED, dispatched: 120, endedAt: expect.anything() })
})

test('every filter of a replay is respected, and dry runs are never replayed', async () => {
  const { id, replays } = await account(['email.delivery', 'email.feedback'])
  const plain = await store(id, 2)
  const bounced = await store(id, 2, { status: 'bounced', reason: 'mailbox_full' })
  const tagged = await store(id, 2, { tag: 'welcome' })
  const tenant = await store(id, 2, { tenantId: 'acme' })
  const feedback = await store(id, 2, { event: 'email.feedback' })
  await store(id, 2, { sandbox: true })
  const cases: [object, { id: string }[]][] = [
    [{}, [...plain, ...bounced, ...tagged, ...tenant, ...feedback]],
    [{ status: DeliveryStatus.BOUNCED }, bounced],
    [{ tag: 'welcome' }, tagged],
    [{ tenantId: 'acme' }, tenant],
    [{ event: 'email.feedback' }, feedback],
    [{ tag: 'welcome', status: DeliveryStatus.BOUNCED }, []],
  ]
  for (const [filter, expected] of cases) {
    const to = { ...filter, to: ago(1) }
    expect((await replays.countEvents({ filter: to })).count, JSON.stringify(filter)).toBe(expected.length)
    const { replay } = await replays.startReplay({ filter: to })
    await walk(replay!)
    const found = await world.db
      .delete(openDispatches)
      .where(eq(openDispatches.accountId, id))
      .returning({ id: openDispatches.eventId })
    expect(idsOf(found).toSorted()).toEqual(idsOf(expected).toSorted())
  }
})

test('a count that ends early says up to where, and the next one goes on there', async () => {
  const { id } = await account()
  for (const hoursAgo of [1, 1.9, 3, 9, 15, 22]) await store(id, 2, {}, hoursAgo * 60)
  const receivers = [{ id, events: ['email.delivery' as const] }]
  const selection = { accountId: id, filter: create(ReplayFilterSchema), receivers }
  const now = world.clock.now()
  const span = { after: firstIdAt(now - 20 * 60 * MINUTE), until: firstIdAt(now) }
  const counts: number[] = []
  for (let until: string | undefined = span.until; until !== undefined; ) {
    const { count, after } = await countNewest(world.db, selection, { ...span, until }, { enoughMs: 0 })
    counts.push(count)
    until = after
  }
  expect(counts.length).toBe(10)
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(10)
  expect(await countEvents(world.db, selection, span)).toBe(10)
})

test('a count goes on for as long as it may, and ends when there are more events than a replay takes', async () => {
  const { id } = await account()
  for (const hoursAgo of [1, 3, 9, 15]) await store(id, 3, {}, hoursAgo * 60)
  const receivers = [{ id, events: ['email.delivery' as const] }]
  const selection = { accountId: id, filter: create(ReplayFilterSchema), receivers }
  const nowMs = world.clock.now()
  const span = { after: firstIdAt(nowMs - 20 * 60 * MINUTE), until: firstIdAt(nowMs) }
  farClock()
  for (let most = 0; most <= 13; most++) {
    const counted = await countNewest(world.db, selection, span, { enoughMs: 600_000, most })
    expect([most, counted]).toEqual([most, { count: Math.min(12, most + 1), after: undefined }])
  }
})

test('only the kinds that the endpoint asks for are replayed, whatever their status', async () => {
  const { id, replays } = await account(['email.feedback'])
  await store(id, 2)
  const feedback = await store(id, 2, { event: 'email.feedback', status: 'bounced' })
  await world.db
    .update(webhookEndpoints)
    .set({ statuses: ['delivered'] })
    .where(eq(webhookEndpoints.accountId, id))
  const filter = { to: ago(1) }
  expect((await replays.countEvents({ filter })).count).toBe(2)
  const { replay } = await replays.startReplay({ filter })
  await walk(replay!)
  expect((await dispatched(id)).toSorted()).toEqual(idsOf(feedback).toSorted())
})

test('events that the endpoint has acknowledged, by the original dispatch or a replay, can be left out', async () => {
  const { id, replays } = await account()
  const rows = await store(id, 10)
  const ids = idsOf(rows)
  await acknowledge(id, 'original', ids.slice(0, 4))
  await acknowledge(id, 'replay', ids.slice(4, 6))
  const filter = { to: ago(1), notAcknowledged: true }
  expect((await replays.countEvents({ filter })).count).toBe(4)
  const { replay } = await replays.startReplay({ filter, perSecond: 3 })
  await acknowledge(id, 'replay', [ids[9]!])
  const steps = await walk(replay!)
  expect(await dispatched(id)).toEqual(ids.slice(6, 9))
  expect(steps.at(-1)).toMatchObject({ state: 'finished', dispatched: 3, total: 4 })
})

test('an acknowledged replay counts although the clock of its process was a little behind', async () => {
  const { id, replays } = await account()
  const [event] = await store(id, 1)
  const createdMs = timeOfId(event!.id)
  await acknowledge(id, 'replay', [event!.id], createdMs - 30_000)
  const filter = { from: timestampFromMs(createdMs), to: ago(1), notAcknowledged: true }
  expect((await replays.countEvents({ filter })).count).toBe(0)
})

test('each endpoint that asks for an event gets it, or only those that have not acknowledged it', async () => {
  const { id, replays } = await account()
  const second = newId(world.clock.now())
  const endpoint = { url: 'https://other.example.com/', secret: Buffer.of(), events: ['email.delivery' as const] }
  await world.db.insert(webhookEndpoints).values({ id: second, accountId: id, ...endpoint })
  const rows = await store(id, 4)
  const [one, two] = idsOf(rows)
  await acknowledge(id, 'original', [one!])
  await acknowledge(id, 'original', [two!])
  const sentBy = async (filter: object) => {
    const { replay } = await replays.startReplay({ filter: { to: ago(1), ...filter } })
    await walk(replay!)
    const found = await world.db.delete(openDispatches).where(eq(openDispatches.accountId, id)).returning()
    const sent = found.map(({ eventId, endpointId }) => `${endpointId} ${idsOf(rows).indexOf(eventId)}`)
    return { sent: sent.toSorted(), ids: new Set(found.map((row) => row.id)).size }
  }
  const to = (endpointId: string, events: number[]) => events.map((event) => `${endpointId} ${event}`)
  const all = [...to(id, [0, 1, 2, 3]), ...to(second, [0, 1, 2, 3])].toSorted()
  expect(await sentBy({})).toEqual({ sent: all, ids: 8 })
  const lacking = [...to(id, [2, 3]), ...to(second, [0, 1, 2, 3])].toSorted()
  expect(await sentBy({ notAcknowledged: true })).toEqual({ sent: lacking, ids: 6 })
  const named = { endpointId: publicId('whk', second) }
  expect(await sentBy(named)).toEqual({ sent: to(second, [0, 1, 2, 3]), ids: 4 })
})

test('the workflows of a step continue a trace that is linked to its activity', async () => {
  const { id, replays } = await account()
  await store(id, 2)
  const { replay } = await replays.startReplay({ filter: { to: ago(1) } })
  const traceparent = `00-${'a'.repeat(32)}-${'1'.repeat(16)}-01`
  const tracing = { ...NO_TRACING, active: () => traceparent }
  await createRangeReplays({ db: world.db, workflows, tracing, report }).dispatchNext(uuidOf(replay!))
  expect(groups).toMatchObject([{ traceparent }])
})

test('the workflows of running replays are started again, and no others', async () => {
  const { id, replays } = await account()
  await store(id, 3)
  const start = async (filter: object) => (await replays.startReplay({ filter: { to: ago(1), ...filter } })).replay!
  const endpointId = publicId('whk', id)
  const [running, cancelled, named] = [await start({}), await start({ tag: 'x' }), await start({ endpointId })]
  expect(await replaysOf().cancel(uuidOf(cancelled))).toBe('cancelled')
  expect((await replays.getReplay(idOf(cancelled))).replay).toMatchObject({ state: ReplayState.CANCELLED })
  const resumed: object[] = []
  await resumeReplays(world.db, { startReplay: async (replay) => void resumed.push(replay) })
  const own = resumed.filter((replay) => 'accountId' in replay && replay.accountId === id)
  expect(own).toHaveLength(2)
  expect(own).toContainEqual({ id: uuidOf(running), accountId: id, total: 3 })
  expect(own).toContainEqual({ id: uuidOf(named), accountId: id, endpointId: id, total: 3 })
})

test('a step that is repeated, or made by two workers at a time, dispatches no event twice', async () => {
  const { id, replays } = await account()
  const rows = await store(id, 200)
  const { replay } = await replays.startReplay({ filter: { to: ago(1) }, perSecond: 20 })
  const workers = [replaysOf(), replaysOf(), replaysOf()]
  const step = () => Promise.all(workers.map(({ dispatchNext }) => dispatchNext(uuidOf(replay!))))
  for (let i = 0; i < 12; i++) for (const { state } of await step()) expect(['running', 'finished']).toContain(state)
  await walk(replay!)
  expect(await dispatched(id)).toEqual(idsOf(rows))
  expect((await replays.getReplay(idOf(replay))).replay).toMatchObject({ state: ReplayState.FINISHED, dispatched: 200 })
})

test('two replays at once each dispatch every event once', async () => {
  const { id, replays } = await account()
  const rows = await store(id, 60)
  const start = async () => (await replays.startReplay({ filter: { to: ago(1) }, perSecond: 7 })).replay!
  const both = [await start(), await start()]
  await Promise.all(both.map((replay) => walk(replay)))
  for (const replay of both) {
    const prefix = uuidOf(replay).slice(0, 28)
    const { id: dispatchId, eventId } = openDispatches
    const own = await world.db
      .select({ eventId })
      .from(openDispatches)
      .where(and(eq(openDispatches.accountId, id), sql`${dispatchId}::text like ${`${prefix}%`}`))
      .orderBy(asc(dispatchId))
    expect(own.map(({ eventId }) => eventId)).toEqual(idsOf(rows))
  }
})

test('a workflow that does not start is left to the hand-over, and the replay goes on', async () => {
  const { id, replays } = await account()
  await store(id, 60)
  const { replay } = await replays.startReplay({ filter: { to: ago(1) }, perSecond: 60 })
  const { dispatchNext } = replaysOf({
    start: (group) => (group.dispatches.length === 50 ? Promise.reject(new Error('away')) : Promise.resolve()),
  })
  await walk(replay!, { dispatchNext } as ReturnType<typeof replaysOf>)
  expect(errors.map(String)).toEqual(['Error: away'])
  const open = await world.db.select().from(openDispatches).where(eq(openDispatches.accountId, id))
  expect(open.filter(({ handedOverAt }) => handedOverAt === null)).toHaveLength(50)
})

test('a cancelled replay dispatches nothing more', async () => {
  const { id, replays } = await account()
  const rows = await store(id, 10)
  const { replay } = await replays.startReplay({ filter: { to: ago(1) }, perSecond: 4 })
  const { dispatchNext } = replaysOf()
  await dispatchNext(uuidOf(replay!))
  const cancelled = (await replays.cancelReplay(idOf(replay))).replay
  expect(cancelled).toMatchObject({ state: ReplayState.CANCELLED, dispatched: 4, endedAt: expect.anything() })
  expect(await dispatchNext(uuidOf(replay!))).toMatchObject({ state: 'cancelled', dispatched: 4 })
  expect(await dispatched(id)).toEqual(idsOf(rows).slice(0, 4))
  expect((await replays.cancelReplay(idOf(replay))).replay).toEqual(cancelled)
})

test('the start of a replay and its cancellation are in the audit log, under its id', async () => {
  const { id, replays } = await account()
  await store(id, 3)
  const filter = { to: ago(1), tag: 'welcome' }
  const { replay } = await replays.startReplay({ filter, perSecond: 4 })
  await replays.cancelReplay(idOf(replay))
  await replays.cancelReplay(idOf(replay))
  const entries = await world.db
    .select()
    .from(auditEntries)
    .where(eq(auditEntries.accountId, id))
    .orderBy(asc(auditEntries.id))
  expect(entries.map(({ action, target, before, after }) => ({ action, target, before, after }))).toEqual([
    {
      ...{ action: 'replay.start', target: replay!.replayId, before: null },
      after: { filter: expect.objectContaining({ tag: 'welcome' }), per_second: 4, total: 0 },
    },
    {
      ...{ action: 'replay.cancel', target: replay!.replayId, before: { state: 'running', dispatched: null } },
      after: { state: 'cancelled', dispatched: 0 },
    },
  ])
})

test('a step of a replay that does not exist is the end of its workflow', async () => {
  const end = { state: 'cancelled', dispatched: 0, total: 0, waitMs: 0 }
  expect(await replaysOf().dispatchNext(newId(0))).toEqual(end)
})

test('a replay fails when its account has no endpoint any more', async () => {
  const { id, replays } = await account()
  await store(id, 10)
  const { replay } = await replays.startReplay({ filter: { to: ago(1) }, perSecond: 4 })
  const { dispatchNext } = replaysOf()
  await dispatchNext(uuidOf(replay!))
  await world.db.delete(webhookEndpoints).where(eq(webhookEndpoints.accountId, id))
  expect(await dispatchNext(uuidOf(replay!))).toMatchObject({ state: 'failed', dispatched: 4 })
  expect((await replays.getReplay(idOf(replay))).replay).toMatchObject({ state: ReplayState.FAILED })
  await expect(replays.startReplay({ filter: {} })).rejects.toThrow('[failed_precondition] This account has no webhook')
})

test('events of the last seconds are dispatched when none can be committed behind them any more', async () => {
  const { id, replays } = await account()
  const old = await store(id, 2)
  await store(id, 1, {}, 0)
  const { replay } = await replays.startReplay({ filter: {} })
  expect(replay!.total).toBe(3)
  const { dispatchNext } = replaysOf()
  await dispatchNext(uuidOf(replay!))
  const { state, waitMs } = await dispatchNext(uuidOf(replay!))
  expect([state, await dispatched(id)]).toEqual(['running', idsOf(old)])
  expect(waitMs).toBeGreaterThan(15_000)
  // A replay leaves an event alone for 20 s.
  expect(waitMs).toBeLessThanOrEqual(20_000)
})

test('no more events are dispatched while 5,000 dispatches of a replay wait', async () => {
  const { id, replays } = await account()
  const rows = await store(id, 10)
  const { replay } = await replays.startReplay({ filter: { to: ago(1) } })
  const firstId = replayDispatchId(uuidOf(replay!), 0, 0).slice(0, 28)
  await world.db.execute(sql`
    insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at, deadline_at)
    select (${firstId} || to_hex(n + 268435456))::uuid, ${rows[0]!.id}, ${rows[0]!.messageId}, ${id}, ${id}, 'replay', now(),
      now(), now() from generate_series(1, 4996) n`)
  const { dispatchNext } = replaysOf()
  expect(await dispatchNext(uuidOf(replay!))).toMatchObject({ state: 'running', dispatched: 4 })
  expect(await dispatchNext(uuidOf(replay!))).toMatchObject({ state: 'running', dispatched: 4, waitMs: 5_000 })
  await world.db.delete(openDispatches).where(eq(openDispatches.accountId, id))
  expect((await walk(replay!)).at(-1)).toMatchObject({ state: 'finished', dispatched: 10 })
})

test('a replay shows how many of its dispatches were acknowledged, also when it is long over', async () => {
  const { id, replays } = await account()
  await store(id, 4)
  const { replay } = await replays.startReplay({ filter: { to: ago(1) } })
  await walk(replay!)
  const open = await world.db.select().from(openDispatches).where(eq(openDispatches.accountId, id))
  const counts = async () => (await replays.listReplays({})).replays[0]!
  expect(await counts()).toMatchObject({ acknowledged: 0, waiting: 4 })
  const taken = idsOf(open.slice(0, 3))
  await world.db.delete(openDispatches).where(inArray(openDispatches.id, taken))
  const row = {
    accountId: id,
    kind: 'replay',
    state: 'acknowledged',
    createdAt: sql`now()`,
    endedAt: sql`now()`,
  } as const
  await world.db
    .insert(dispatches)
    .values(
      open
        .slice(0, 3)
        .map(({ id, eventId, messageId, endpointId }) => ({ ...row, id, eventId, messageId, endpointId })),
    )
  expect(await counts()).toMatchObject({ acknowledged: 3, waiting: 1 })
  await finishDispatches(world.db, [open[3]!.id], 'exhausted')
  expect(await counts()).toMatchObject({ acknowledged: 3, waiting: 0 })
  const [kept] = await world.db.select().from(rangeReplays).where(eq(rangeReplays.accountId, id))
  expect(kept!.acknowledged).toBe(3)
})

test('without Temporal no replay is started, and none is left running', async () => {
  const { id, replays } = await account()
  await store(id, 2)
  temporal = () => Promise.reject(new Error('away'))
  await expect(replays.startReplay({ filter: { to: ago(1) } })).rejects.toThrow('[unavailable] The replay could not be')
  expect((await replays.listReplays({})).replays).toMatchObject([{ state: ReplayState.CANCELLED, dispatched: 0 }])
  expect(errors.map(String)).toEqual(['Error: away'])
})

test('a replay whose start seems to fail is accepted when its workflow has dispatched something', async () => {
  const { id, replays } = await account()
  await store(id, 3)
  temporal = async () => {
    temporal = async () => {}
    const [row] = await world.db.select().from(rangeReplays).where(eq(rangeReplays.accountId, id))
    await replaysOf().dispatchNext(row!.id)
    throw new Error('DEADLINE_EXCEEDED')
  }
  const { replay } = await replays.startReplay({ filter: { to: ago(1) }, perSecond: 2 })
  expect(replay).toMatchObject({ state: ReplayState.RUNNING, total: 3 })
  expect((await walk(replay!)).at(-1)).toMatchObject({ state: 'finished', dispatched: 3 })
})

test('when it is unknown whether a replay was started, the response says so', async () => {
  const { id, replays } = await account()
  await store(id, 3)
  onTestFinished(async () => void (await run(world.db, 'alter table gone rename to audit_entries')))
  temporal = async () => {
    await run(world.db, 'alter table audit_entries rename to gone')
    throw new Error('away')
  }
  const started = replays.startReplay({ filter: { to: ago(1) } })
  await expect(started).rejects.toThrow('[unavailable] It is not known whether the replay was started.')
})

test('what a replay cannot do is refused, with the field', async () => {
  const { replays } = await account()
  const time = ago(5)
  const cases: [object, string][] = [
    [{}, 'filter is required'],
    [{ filter: { from: ago(5), to: ago(6) } }, 'filter.from is after filter.to'],
    [{ filter: { to: ago(-1) } }, 'filter.to must not be in the future'],
    [{ filter: { from: ago(-1) } }, 'filter.from is after filter.to'],
    [{ filter: { event: 'email.opened' } }, 'filter.event must be email.delivery or email.feedback'],
    [{ filter: { status: 99 } }, 'filter.status 99 is not a known value'],
    [{ filter: { tag: 'x'.repeat(1_000) } }, 'filter.tag '],
    [{ filter: { tenantId: '' } }, 'filter.tenant_id '],
    [{ filter: {}, perSecond: 0 }, 'per_second must be 1 to 1000'],
    [{ filter: {}, perSecond: 1_001 }, 'per_second must be 1 to 1000'],
  ]
  for (const [request, message] of cases) {
    await expect(replays.startReplay(request), message).rejects.toThrow(`[invalid_argument] ${message}`)
  }
  await expect(replays.countEvents({})).rejects.toThrow('filter is required')
  expect(await replays.countEvents({ filter: { from: time, to: time } })).toMatchObject({ count: 0 })
})

test('a replay of another account does not exist', async () => {
  const [mine, other] = [await account(), await account()]
  await store(mine.id, 1)
  const { replay } = await mine.replays.startReplay({ filter: { to: ago(1) } })
  for (const { replayId } of [replay!, { replayId: 'rpl_x' }, { replayId: publicId('rpl', newId(0)) }]) {
    const message = `[not_found] There is no replay "${replayId}" in this account.`
    await expect(other.replays.getReplay({ replayId })).rejects.toThrow(message)
    await expect(other.replays.cancelReplay({ replayId })).rejects.toThrow(message)
  }
  expect((await other.replays.listReplays({})).replays).toEqual([])
  expect((await mine.replays.getReplay(idOf(replay))).replay).toMatchObject({ state: ReplayState.RUNNING })
})

test('a reader sees replays and starts none', async () => {
  const { id } = await account()
  const reader = (await dashboard.person({ accountId: id, role: 'reader' })).client(ReplayService)
  expect((await reader.listReplays({})).replays).toEqual([])
  await expect(reader.startReplay({ filter: {} })).rejects.toThrow('[permission_denied]')
  await expect(reader.retryDispatch({ dispatchId: 'dsp_x' })).rejects.toThrow('[permission_denied]')
})
