import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { SitePlaces } from '../../mail/smtp/site-places.ts'
import { createDatabaseClock, type DatabaseClock } from '../../server/db/clock.ts'
import { SharedPlaces } from '../../server/shaping/shared-places.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'
import { deliveryTo, engineWith, exchangerWith, siteOf } from '../mail/smtp/deliver.ts'

let database: TestDatabase
let clock: DatabaseClock
const processes: SharedPlaces[] = []

beforeEach(async () => {
  database = await testDatabase()
  clock = await createDatabaseClock(database.db)
})

afterEach(async () => {
  for (const each of processes.splice(0)) await each.close()
  clock.stop()
})

const site = (limits: { connections: number; perMinute?: number }) => ({
  key: '192.0.2.1 mx.example:25',
  address: '192.0.2.1',
  name: 'mx.example:25',
  limits: { messages: 100, ...limits },
})

function newProcess(): SharedPlaces {
  const made = new SharedPlaces({ db: database.db, clock, onError: () => {} })
  processes.push(made)
  return made
}

/** A process that has as many connections as it may, up to what it wants. */
function user(of: SharedPlaces, limits: { connections: number; perMinute?: number }) {
  const state = { open: 0, accepted: 0, wanted: 0 }
  const places: SitePlaces = of.open(site(limits), () => adapt())
  function adapt() {
    const next = Math.min(state.wanted, places.count())
    if (next === state.open) return places.need(state)
    state.open = state.accepted = next
    places.need(state)
  }
  return {
    state,
    places,
    want(wanted: number) {
      state.wanted = wanted
      adapt()
    },
  }
}

const books = async () => (await database.db.$client`select site, version, book from site_books`) as unknown as object[]

test('a process alone gets up to the limit, and shares with the next one', async () => {
  const limits = { connections: 10 }
  const [a, b] = [user(newProcess(), limits), user(newProcess(), limits)]
  a.want(20)
  await vi.waitFor(() => expect(a.state.open).toBe(10), 2_000)
  b.want(20)
  await vi.waitFor(() => expect(b.state.open).toBe(5), 4_000)
  expect(a.state.open).toBe(5)
  a.want(1)
  await vi.waitFor(() => expect(b.state.open).toBe(8), 12_000)
})

test('three processes take turns at the only place', async () => {
  const users = [1, 2, 3].map(() => user(newProcess(), { connections: 1 }))
  const had = new Set<number>()
  for (const each of users) each.want(1)
  await vi.waitFor(
    () => {
      for (const [i, { state }] of users.entries()) if (state.open) had.add(i)
      expect(users.reduce((sum, { state }) => sum + state.open, 0)).toBeLessThanOrEqual(1)
      expect([...had].toSorted()).toEqual([0, 1, 2])
    },
    { timeout: 15_000, interval: 20 },
  )
})

test('a process that ends gives its places back at once', async () => {
  const [first, second] = [newProcess(), newProcess()]
  const [a, b] = [user(first, { connections: 4 }), user(second, { connections: 4 })]
  a.want(4)
  await vi.waitFor(() => expect(a.state.open).toBe(4), 2_000)
  a.want(0)
  await first.close()
  b.want(4)
  await vi.waitFor(() => expect(b.state.open).toBe(4), 2_000)
})

test('a refused connection lowers the places of both processes', async () => {
  const limits = { connections: 10 }
  const [a, b] = [user(newProcess(), limits), user(newProcess(), limits)]
  a.want(5)
  b.want(5)
  await vi.waitFor(() => expect([a.state.open, b.state.open]).toEqual([5, 5]), 4_000)
  a.want(3)
  a.places.refused({ beganAtMs: performance.now() - 1, reply: '421 4.7.0 too many' })
  const slowed = { book: { pace: { places: 8 }, lastReply: { text: '421 4.7.0 too many' } } }
  await vi.waitFor(async () => expect((await books())[0]).toMatchObject(slowed), 4_000)
  a.want(5)
  b.want(9)
  await vi.waitFor(() => expect([a.state.open, b.state.open]).toEqual([4, 4]), 4_000)
})

test('messages of two processes go at the pace of the site, and one that waits too long does not go', async () => {
  const perMinute = 1_200
  const users = [1, 2].map(() => user(newProcess(), { connections: 10, perMinute }))
  const sent: number[] = []
  const until = performance.now() + 4_000
  await Promise.all(
    users.flatMap(({ places }) =>
      [1, 2, 3, 4].map(async () => {
        while (performance.now() < until) {
          if (await places.mayMail({ untilMs: until })) sent.push(performance.now())
        }
      }),
    ),
  )
  expect(sent.length).toBeGreaterThan(4 * 17 * 0.7)
  expect(sent.length).toBeLessThanOrEqual(4 * 17 + perMinute * 0.1 + 3)
  expect(await users[0]!.places.mayMail({ untilMs: performance.now() - 1 })).toBe(false)
})

test('a send in quiet times costs no statement', async () => {
  const a = user(newProcess(), { connections: 10, perMinute: 60_000 })
  a.want(2)
  await a.places.mayMail({})
  await vi.waitFor(() => expect(a.state.open).toBe(2), 2_000)
  // Until some messages are in stock.
  await vi.waitFor(() => expect(Array.from({ length: 9 }, () => a.places.mayMail({}))).not.toContainEqual({}), 4_000)
  const [before] = (await books()) as { version: number }[]
  for (let i = 0; i < 50; i++) {
    a.want(1)
    await a.places.mayMail({})
    a.want(2)
  }
  const [after] = (await books()) as { version: number }[]
  expect(after!.version - before!.version).toBeLessThanOrEqual(2)
})

test('without the database places end by their time, and nothing may be opened', async () => {
  const a = user(newProcess(), { connections: 10 })
  a.want(4)
  await vi.waitFor(() => expect(a.state.open).toBe(4), 2_000)
  await database.db.$client`alter table site_books rename to gone`
  await vi.waitFor(() => expect(a.state.open).toBe(0), 30_000)
  await database.db.$client`alter table gone rename to site_books`
  await vi.waitFor(() => expect(a.state.open).toBe(4), 5_000)
}, 40_000)

test('a site without a limit a minute that takes one message a second is asked less and less', async () => {
  const engine = engineWith({ openPlaces: newProcess().open })
  let takenAtMs = -Infinity
  const askedMs: number[] = []
  const exchanger = await exchangerWith({
    mail: () => {
      const nowMs = performance.now()
      askedMs.push(nowMs)
      if (nowMs - takenAtMs < 1_000) return '421 4.7.0 too much mail from you, slow down'
      takenAtMs = nowMs
      return '250 ok'
    },
  })
  const site = siteOf(exchanger)
  const beganAtMs = performance.now()
  const sending = Array.from({ length: 20 }, async () => {
    while (performance.now() - beganAtMs < 8_000)
      await engine.deliver(deliveryTo(site, { budgetMs: 9_000, startedAtMs: performance.now() }))
  })
  await Promise.all(sending)
  const within = (fromMs: number) => askedMs.filter((ms) => ms - beganAtMs >= fromMs && ms - beganAtMs < fromMs + 3_000)
  // At once it is asked a hundred times a second; after some refusals less than three times.
  expect(within(5_000).length).toBeLessThan(10)
  expect(within(0).length).toBeGreaterThan(within(5_000).length)
}, 30_000)
