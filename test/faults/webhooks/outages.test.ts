import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client'
import { expect, test, vi } from 'vitest'
import { publicId } from '../../../server/db/ids.ts'
import { letRun } from '../../harness/waits.ts'
import { letters } from '../letters.ts'
import { tally } from '../load.ts'
import type { Node } from '../node.ts'
import { diceFor } from '../seed.ts'
import { sendPaced } from './load.ts'
import { attemptOf } from './receivers.ts'
import { BY_STATUS, endpointOf, startWebhookWorld, type WebhookWorld } from './world.ts'

let run: WebhookWorld

interface Outage {
  name: string
  begin(run: WebhookWorld): unknown
  end(run: WebhookWorld): unknown
}

const OUTAGES: Outage[] = [
  { name: 'stopped', begin: ({ temporal }) => temporal.stop(), end: ({ temporal }) => temporal.start() },
  { name: 'paused', begin: ({ temporal }) => temporal.pause(), end: ({ temporal }) => temporal.resume() },
]

test.each(OUTAGES)(
  'no send fails and no first attempt is late while Temporal is $name for 10 s, and the later attempts follow',
  async (outage) => {
    const dice = diceFor(outage.name)
    run = await startWebhookWorld({ others: BY_STATUS })
    const hook = await run.openHook(() => ({ status: dice.chance(0.9) ? 200 : 503 }))
    const node = await run.start()
    await endpointOf(run, run.account.id).put(node.client, hook.url)
    await run.work()
    const beganMs = Date.now()
    const load = sendPaced(20, letters(`away-${outage.name}`, 250, dice), () => node)
    // The first attempts with Temporal tell how fast the machine is.
    await expect.poll(() => run.posts().length, { timeout: 30_000 }).toBeGreaterThan(20)
    await outage.begin(run)
    const awayMs = Date.now()
    await letRun(5_000)
    await expect.poll(() => readiness(node)).toMatchObject({ status: 200, body: { checks: { temporal: 'degraded' } } })
    await run.snapshot()
    await letRun(5_000)
    const backMs = Date.now()
    await outage.end(run)
    await load
    const counts = tally(run.logs.requests)
    expect(counts).not.toHaveProperty('500')
    expect(counts).not.toHaveProperty('lost')
    const before = await firstAttempts(run, beganMs, awayMs)
    const meanwhile = await firstAttempts(run, awayMs, backMs)
    console.log(outage.name, counts, { before, meanwhile })
    expect(meanwhile.events).toBeGreaterThan(300)
    // A machine too busy for these bars is slow without the outage, too.
    expect(meanwhile.p99).toBeLessThan(Math.max(1_500, 2 * before.p99))
    expect(meanwhile.last).toBeLessThan(Math.max(5_000, 3 * before.last))
    expect(await run.verdict()).toEqual([])
    await expect.poll(() => readiness(node)).toMatchObject({ status: 200, body: { checks: { temporal: 'ok' } } })
  },
)

async function readiness(node: Node) {
  const { status, body } = await node.client.get('/readyz')
  return { status, body }
}

/**
 * The times from the events of a period to the arrival of their first attempts, in milliseconds. Waits until all have
 * arrived.
 */
async function firstAttempts({ sql, webhooks }: WebhookWorld, fromMs: number, toMs: number) {
  const events = await sql`
    select id, (extract(epoch from created_at) * 1000)::float8 as ms from events
    where created_at between ${new Date(fromMs)} and ${new Date(toMs)}`
  const latenciesMs = await vi.waitFor(
    () => {
      const firsts = webhooks.posts.filter((post) => attemptOf(post) === 1)
      const arrivedMs = new Map(firsts.map((post) => [post.headers['service-event-id'], post.arrivedMs]))
      return events.map(({ id, ms }) => {
        const atMs = arrivedMs.get(publicId('evt', id))
        if (atMs === undefined) throw new Error(`the event ${publicId('evt', id)} has no first attempt`)
        return atMs - ms
      })
    },
    { timeout: 60_000, interval: 100 },
  )
  latenciesMs.sort((a, b) => a - b)
  const at = (part: number) => Math.round(latenciesMs[Math.floor((latenciesMs.length - 1) * part)]!)
  return { events: latenciesMs.length, median: at(0.5), p99: at(0.99), last: at(1) }
}

test('other workflows take over waiting dispatches after workflows are terminated by hand and after all history is lost', async () => {
  const dice = diceFor('lost history')
  run = await startWebhookWorld({ scheduleMs: [0, 300, 3_000, 3_000], others: BY_STATUS })
  const hook = await run.openHook((_, attempt) => ({ status: attempt < 4 ? 503 : 200 }))
  const node = await run.start()
  await endpointOf(run, run.account.id).put(node.client, hook.url)
  await run.work()
  const losses = [
    async () => {
      await terminateAll(run)
      await expect.poll(() => revivedOf(run), { timeout: 60_000 }).toBeGreaterThan(10)
    },
    async () => {
      await run.temporal.forget()
      await reviveOverdue(run)
    },
  ]
  for (const [i, lose] of losses.entries()) {
    await sendPaced(20, letters(`lost-${i}`, 20, dice), () => node)
    await expect.poll(() => run.sql`select from open_dispatches where handed_over_at is null`).toHaveLength(0)
    await lose()
  }
  expect(await run.verdict()).toEqual([])
  const { dispatches } = run.logs.database.at(-1)!.webhooks!
  expect(new Set(dispatches.map(({ state }) => state))).toEqual(new Set(['acknowledged']))
  const [row] = await run.sql`select count(*)::int as again from dispatches where workflow_id ~ '-r[0-9]+$'`
  expect(row!.again).toBeGreaterThan(20)
})

/** The dispatches whose workflow replaces a lost one. */
async function revivedOf({ sql }: WebhookWorld): Promise<number> {
  const [row] = await sql`
    select count(*)::int as again from (
      select workflow_id from dispatches union all select workflow_id from open_dispatches
    ) d where workflow_id ~ '-r[0-9]+$'`
  return row!.again
}

async function terminateAll({ sql, temporal }: WebhookWorld): Promise<void> {
  const connection = await Connection.connect({ address: temporal.address })
  const client = new Client({ connection })
  const rows = await sql`select distinct workflow_id as id from open_dispatches where handed_over_at is not null`
  // One that has ended meanwhile cannot be terminated.
  for (const { id } of rows) await client.workflow.getHandle(id).terminate('by hand').catch(unlessEnded)
  await connection.close()
}

function unlessEnded(error: unknown): void {
  if (!(error instanceof WorkflowNotFoundError)) throw error
}

/** Changes the rows as if waiting dispatches had been due for two minutes without an attempt. */
async function reviveOverdue({ sql }: WebhookWorld): Promise<void> {
  const state = async () => {
    const [row] = await sql`
      select count(*) filter (where due_at < clock_timestamp())::int as overdue,
        count(*) filter (where due_at >= clock_timestamp())::int as later
      from open_dispatches where handed_over_at is not null`
    return { areMany: row!.overdue > 10, later: row!.later }
  }
  await expect.poll(state, { timeout: 30_000 }).toEqual({ areMany: true, later: 0 })
  await sql`
    update open_dispatches set due_at = due_at - interval '2 minutes', looked_at = null where handed_over_at is not null`
}

test('dispatches are exhausted without another attempt when Temporal is away until the window of 24 hours is over', async () => {
  run = await startWebhookWorld({ others: BY_STATUS })
  const hook = await run.openHook(() => ({ status: 503 }))
  const node = await run.start()
  await endpointOf(run, run.account.id).put(node.client, hook.url)
  await run.temporal.stop()
  await run.work()
  await sendPaced(20, letters('over', 10, diceFor('window')), () => node)
  const events = await run.sql`select id from events`
  // The first endpoint asks for each event, and one of the others.
  const count = 2 * events.length
  const afterFirstAttempts = () => run.sql`select from open_dispatches where attempt = 2`
  await expect.poll(afterFirstAttempts).toHaveLength(count)
  expect(run.posts()).toHaveLength(count)
  await run.sql`
    update open_dispatches set created_at = clock_timestamp() - interval '24 hours', due_at = clock_timestamp(),
      deadline_at = clock_timestamp()`
  await run.temporal.start()
  expect(await run.verdict()).toEqual([])
  expect(run.posts()).toHaveLength(count)
  const { dispatches } = run.logs.database.at(-1)!.webhooks!
  expect(dispatches.map(({ state }) => state)).toEqual(Array(count).fill('exhausted'))
})
