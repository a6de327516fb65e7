import { expect, test } from 'vitest'
import { keepEventOrder } from '../../server/db/event-order.ts'
import { newId } from '../../server/db/ids.ts'
import { EventReads } from '../../server/stream/read-events.ts'
import { testDatabase } from '../harness/postgres.ts'

async function world() {
  const { db } = await testDatabase()
  const clock = { now: () => Date.now(), stop() {} }
  const reads = new EventReads(db, clock)
  const account = newId(Date.now())
  /** Stores an event, with an order of its own if one is given, and returns its id. */
  async function store(order?: number, atMs = Date.now()): Promise<string> {
    const id = newId(atMs)
    await db.$client.unsafe(
      `insert into events (id, message_id, account_id, status, recipient, sandbox, created_at, stream_order)
       values ($1, $1, $2, 'delivered', 'a@example.net', false, now(), ${order ?? 'default'})`,
      [id, account],
    )
    return id
  }
  return {
    db,
    reads,
    account,
    store,
    ids: async (after = { order: 0, id: newId(0) }) => (await reads.readPage(account, after)).map(({ id }) => id),
  }
}

test('events after a restore in another cluster come after those of the dump, whatever its transaction ids were', async () => {
  const { db, store, ids, reads } = await world()
  const [first] = [await store()]
  // The dump is of a cluster that was far ahead.
  const dumped = await store(2 ** 44 + 2 ** 40)
  await db.$client.unsafe(`update event_orders set cluster = '1'`)
  expect((await reads.horizon()).isKept).toBe(false)
  // Several processes start at once.
  await Promise.all([keepEventOrder(db), keepEventOrder(db), keepEventOrder(db)])
  expect(await db.$client.unsafe('select epoch from event_orders order by 1')).toEqual([{ epoch: 1 }, { epoch: 2 }])
  const after = await store()
  expect((await reads.horizon()).isKept).toBe(true)
  // An open transaction of another test, in the same cluster, can hold the newest events back for a moment.
  await expect.poll(() => ids()).toEqual([first, dumped, after])
})

test('events of an earlier release come first, by their ids, and none is left out', async () => {
  const { store, ids, reads, account } = await world()
  const now = Date.now()
  const old = []
  for (let i = 130; i > 0; i--) old.push(await store(0, now - i))
  const newer = [await store(), await store()]
  // As above.
  await expect.poll(() => reads.newest(account)).toMatchObject({ id: newer[1] })
  const first = await reads.readPage(account, { order: 0, id: newId(0) })
  expect(first).toHaveLength(100)
  const last = first.at(-1)!
  expect([...first.map(({ id }) => id), ...(await ids({ order: 0, id: last.id }))]).toEqual([...old, ...newer])
})

test('a statement of the stream reads the days that can hold new events, by the index of its order', async () => {
  const { db, store, account } = await world()
  await store()
  const rows = await db.$client.unsafe(
    `explain select id from events e where account_id = '${account}' and stream_order > 0
       and (stream_order, id) > (5, '${newId(0)}') and id >= '${newId(Date.now() - 86_400_000)}'
     order by stream_order, id limit 100`,
  )
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  expect(plan).toMatch(/Index (Only )?Scan using events_\d{8}_.*stream/)
  expect(plan).not.toMatch(/Seq Scan|Sort {2}/)
})
