import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Pool } from '../../../mail/smtp/pool.ts'
import type { Session } from '../../../mail/smtp/session.ts'
import type { Place } from '../../../mail/smtp/site-connections.ts'
import type { OpenSitePlaces, SiteLoad, SiteOfAddress } from '../../../mail/smtp/site-places.ts'

// The pool alone: its sessions open no connection, and the test decides how many places the site has.

/** A session that the pool may keep. The test says when its server closes it, and when it has closed. */
function sessionOf({ messages = 1, isSpent = false } = {}) {
  const state = { isIdle: false, isClosing: false, endsIdle() {}, idleUntilMs: 0, hasClosed() {} }
  const wire = {
    watchIdle(untilMs: number, onEnd: () => void) {
      state.isIdle = true
      state.idleUntilMs = untilMs
      state.endsIdle = onEnd
    },
    stopWatching() {
      state.isIdle = false
    },
    quit(onClosed: () => void) {
      state.isClosing = true
      state.hasClosed = () => {
        state.isClosing = false
        onClosed()
      }
    },
  }
  return { session: { messages, isSpent, extensions: {}, wire } as unknown as Session, state }
}
type TestSession = ReturnType<typeof sessionOf>

const IDLE_MS = 60_000
const LIMITS = { connections: 5, messages: 10 }
const SITE: SiteOfAddress = { key: 'site', address: '', name: 'site', limits: LIMITS }

/** A pool over places whose number the test sets. */
function poolWith(count: number) {
  const told: string[] = []
  const site = { count, left: 0, opened: 0, mayMail: true, load: undefined as SiteLoad | undefined, change() {} }
  const openPlaces: OpenSitePlaces = ({ key }, onChange) => {
    site.opened++
    site.change = onChange
    return {
      count: () => site.count,
      need: (load) => {
        site.load = load
      },
      refused: ({ reply }) => told.push(`refused: ${reply}`),
      refusedRate: ({ reply }) => told.push(`rate: ${reply}`),
      succeeded: () => told.push('succeeded'),
      async mayMail() {
        told.push(`asked for ${key}`)
        return site.mayMail
      },
      leave: () => {
        site.left++
      },
    }
  }
  return { pool: new Pool({ idleMs: IDLE_MS, openPlaces }), site, told }
}

async function placeOf({ pool }: ReturnType<typeof poolWith>, more: Partial<SiteOfAddress> = {}) {
  const place = await pool.acquire({ ...SITE, ...more }, {})
  if (place.kind === 'none') throw new Error(place.cause)
  return place
}

type Step =
  | { kind: 'acquire' | 'try' | 'spare' | 'opened' | 'refused' | 'endsIdle' | 'closed'; at: number }
  | { kind: 'release'; at: number; keeps: boolean; isSpent: boolean }
  | { kind: 'places'; count: number }

const at = fc.nat(20)
const mostly = fc.nat(4).map((dice) => dice > 0)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('acquire' as const), at }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('opened' as const, 'closed' as const), at }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('try', 'spare', 'refused', 'endsIdle') as fc.Arbitrary<'try'>,
      at,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('release' as const),
      at,
      keeps: mostly,
      isSpent: mostly.map((is) => !is),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('places' as const), count: fc.nat(5) }) },
)

test('a site gets no connection beyond its places, none of which is free while a message waits', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.array(step, { minLength: 20, maxLength: 40, size: 'max' }),
      async (count, steps) => {
        const world = poolWith(count)
        const { pool, site } = world
        const held: { place: Place; own: TestSession; isAccepted: boolean }[] = []
        const sessions = new Map<Session, TestSession>()
        /** The sessions whose places are free when they have closed. */
        const releasing = new Set<TestSession>()
        const faults: string[] = []
        let waiting = 0
        const states = () => [...sessions.values()]
        const idle = () => states().filter(({ state }) => state.isIdle)
        const closing = () => states().filter(({ state }) => state.isClosing)
        const closingIdle = () => closing().filter((each) => !releasing.has(each))
        const inUse = () => held.length + releasing.size

        function hold(place: Place | undefined) {
          if (!place) return
          const own = place.session ? sessions.get(place.session)! : sessionOf()
          sessions.set(own.session, own)
          held.push({ place, own, isAccepted: place.session !== undefined })
          const open = inUse() + idle().length + closingIdle().length
          if (!place.session && open > site.count) faults.push(`${open} connections to ${site.count} places`)
        }
        function release(which: number, keeps: boolean, isSpent = false) {
          const [{ place, own, isAccepted }] = held.splice(which % held.length, 1) as [(typeof held)[number]]
          own.session.isSpent = isSpent
          if (keeps && !isAccepted) place.opened()
          const hasPlace = inUse() + 1 + idle().length <= site.count
          place.release(keeps ? own.session : undefined)
          if (own.state.isClosing) releasing.add(own)
          if (keeps) expect(own.state).toMatchObject({ isIdle: hasPlace && !isSpent, isClosing: !hasPlace || isSpent })
        }
        function closes(one: TestSession | undefined) {
          if (one) releasing.delete(one)
          one?.state.hasClosed()
        }
        const wasOpened = (which: number) => {
          const one = held[which % held.length]
          if (one) one.isAccepted = true
          one?.place.opened()
        }
        const wasRefused = (which: number) => {
          const one = held[which % held.length]
          if (one) one.isAccepted = false
          one?.place.refused({ beganAtMs: 0, reply: '421' })
        }
        function play(step: Step) {
          switch (step.kind) {
            case 'acquire':
              waiting++
              void pool.acquire(SITE, {}).then((place) => {
                waiting--
                hold(place.kind === 'place' ? place : undefined)
              })
              return
            case 'try':
              return hold(pool.tryAcquire(SITE))
            case 'spare': {
              const place = pool.trySpare(SITE)
              expect(place?.session).toBeUndefined()
              return hold(place)
            }
            case 'release':
              return held.length > 0 ? release(step.at, step.keeps, step.isSpent) : undefined
            case 'opened':
              return wasOpened(step.at)
            case 'refused':
              return wasRefused(step.at)
            case 'endsIdle':
              return idle()[step.at % idle().length]?.state.endsIdle()
            case 'closed':
              return closes(closing()[step.at % closing().length])
            case 'places':
              site.count = step.count
              return site.change()
          }
        }

        function check() {
          expect(faults).toEqual([])
          const open = inUse() + idle().length + closingIdle().length
          expect(pool.load()).toEqual({ inUse: inUse(), idle: idle().length, waiting })
          if (open === 0 && waiting === 0) return expect(site.opened - site.left).toBe(0)
          expect(site.opened - site.left).toBe(1)
          expect(site.load).toMatchObject({ open, wanted: open + waiting })
          const accepted = held.filter(({ isAccepted }) => isAccepted).length + releasing.size + idle().length
          // What an idle connection was is known when it has closed.
          if (closingIdle().length === 0) expect(site.load!.accepted).toBe(accepted)
          const free = Math.max(0, site.count - closingIdle().length)
          // An account gets four fifths of the places.
          if (waiting > 0) expect(inUse()).toBeGreaterThanOrEqual(Math.ceil(free * 0.8))
          if (inUse() <= site.count) expect(inUse() + idle().length).toBeLessThanOrEqual(site.count)
          else expect(idle()).toEqual([])
        }

        for (const step of steps) {
          play(step)
          await turn()
          check()
        }
        site.count = 4
        site.change()
        await turn()
        while (held.length + closing().length + idle().length > 0) {
          if (held.length > 0) release(0, false)
          else if (closing().length > 0) closes(closing()[0])
          else idle()[0]!.state.endsIdle()
          await turn()
          check()
        }
        expect([waiting, site.left]).toEqual([0, site.opened])
      },
    ),
    { numRuns: 300 },
  )
})

test('an idle connection is closed when its time is over', async () => {
  const world = poolWith(1)
  const place = await placeOf(world)
  const one = sessionOf()
  place.release(one.session)
  expect(one.state.idleUntilMs).toBeGreaterThan(performance.now() + IDLE_MS / 2)
  expect(one.state.idleUntilMs).toBeLessThanOrEqual(performance.now() + IDLE_MS)
  one.state.endsIdle()
  expect(one.state).toMatchObject({ isIdle: false, isClosing: true })
})

test('the connection used last is used first, and the oldest one is closed when a site has fewer places', async () => {
  const world = poolWith(3)
  const [first, second] = [sessionOf(), sessionOf()]
  const places = [await placeOf(world), await placeOf(world)]
  for (const place of places) place.opened()
  places[0]!.release(first.session)
  places[1]!.release(second.session)
  const next = await placeOf(world)
  expect(next.session).toBe(second.session)
  expect([first, second].map(({ state }) => state.isIdle)).toEqual([true, false])
  next.release(second.session)
  world.site.count = 1
  world.site.change()
  expect([first, second].map(({ state }) => state.isClosing)).toEqual([true, false])
})

test('the site is asked for each message once, also where a place was waited for', async () => {
  const world = poolWith(3)
  const asked = async (place: Place) => {
    const before = world.told.length
    expect(await place.mayMail({})).toBe(true)
    return world.told.length - before
  }
  const place = await placeOf(world)
  expect(world.told).toEqual(['asked for site'])
  expect([await asked(place), await asked(place), await asked(place)]).toEqual([0, 1, 1])
  const spare = world.pool.tryAcquire(SITE)!
  expect([await asked(spare), await asked(spare)]).toEqual([1, 1])
})

test('what the site did with connections and messages is passed on', async () => {
  const world = poolWith(3)
  const place = await placeOf(world)
  place.refused({ beganAtMs: 1, reply: '421 full' })
  place.refusedRate({ beganAtMs: 1, reply: '421 slow down' })
  place.succeeded()
  expect(world.told.slice(1)).toEqual(['refused: 421 full', 'rate: 421 slow down', 'succeeded'])
})

test('a message that gets no place says why, and leaves nothing behind', async () => {
  const leaving = new AbortController()
  const cases: [
    string,
    Parameters<ReturnType<typeof poolWith>['pool']['acquire']>[1],
    Partial<SiteOfAddress>,
    number,
  ][] = [
    ['the caller left', { signal: AbortSignal.abort() }, {}, 1],
    ['the caller left', { signal: leaving.signal }, {}, 0],
    ['no connection to the site became free in time', { untilMs: 0 }, {}, 0],
    ['the site gets no more messages a minute', {}, {}, 1],
  ]
  for (const [cause, request, more, count] of cases) {
    const { pool, site } = poolWith(count)
    site.mayMail = false
    const asked = pool.acquire({ ...SITE, ...more }, request)
    leaving.abort()
    expect(await asked).toEqual({ kind: 'none', cause })
    expect([site.left, pool.load()]).toEqual([site.opened, { inUse: 0, waiting: 0, idle: 0 }])
  }
})

test('requests that leave at the same time give the places of their site back once', async () => {
  for (const count of [0, 1]) {
    const { pool, site } = poolWith(count)
    site.mayMail = false
    const caller = new AbortController()
    const asked = [1, 2].map(() => pool.acquire(SITE, { signal: caller.signal }))
    caller.abort()
    expect(await Promise.all(asked)).toEqual(Array(2).fill({ kind: 'none', cause: 'the caller left' }))
    expect(site).toMatchObject({ opened: 1, left: 1 })
  }
})

test('a closed pool closes idle connections, turns requests away, and closes the others when released', async () => {
  const draining = { kind: 'none', cause: 'draining' }
  const world = poolWith(2)
  const [idle, used] = [sessionOf(), sessionOf()]
  const places = [await placeOf(world), await placeOf(world)]
  places[0]!.release(idle.session)
  world.pool.close()
  expect([idle.state.isClosing, used.state.isClosing]).toEqual([true, false])
  expect(await world.pool.acquire(SITE, {})).toEqual(draining)
  expect([world.pool.tryAcquire(SITE), world.pool.trySpare(SITE)]).toEqual([undefined, undefined])
  idle.state.hasClosed()
  expect(world.pool.tryAcquire(SITE)).toBeUndefined()
  places[1]!.release(used.session)
  expect(used.state.isClosing).toBe(true)
  used.state.hasClosed()
  expect(world.site.left).toBe(1)
  const full = poolWith(1)
  await placeOf(full)
  const waiting = full.pool.acquire(SITE, {})
  full.pool.close()
  expect(await waiting).toEqual(draining)
})

test('a site without a free place learns how many more connections could be used', async () => {
  const world = poolWith(1)
  expect([world.pool.tryAcquire(SITE), world.pool.trySpare(SITE)]).toEqual([undefined, undefined])
  const place = await placeOf(world)
  expect(world.pool.tryAcquire(SITE)).toBeUndefined()
  expect(world.site.load).toMatchObject({ open: 1, wanted: 1 })
  expect(world.pool.tryAcquire(SITE, undefined, 3)).toBeUndefined()
  expect(world.site.load).toMatchObject({ open: 1, wanted: 4 })
  place.release()
})

test('a connection is opened ahead only where none is idle', async () => {
  const world = poolWith(3)
  const places = [await placeOf(world), await placeOf(world)]
  expect(world.pool.trySpare(SITE)).toMatchObject({ kind: 'place' })
  places[0]!.release(sessionOf().session)
  expect(world.pool.trySpare(SITE)).toBeUndefined()
})

test('a connection that is full or spent is closed, and holds its place until it has closed', async () => {
  for (const one of [sessionOf({ messages: 10 }), sessionOf({ isSpent: true })]) {
    const world = poolWith(1)
    const place = await placeOf(world)
    const next = placeOf(world)
    place.release(one.session)
    await turn()
    expect([one.state.isClosing, world.pool.load()]).toEqual([true, { inUse: 1, waiting: 1, idle: 0 }])
    one.state.hasClosed()
    expect((await next).session).toBeUndefined()
  }
})

test('changed limits hold at once, and a private site shares no places with other machines', async () => {
  const world = poolWith(3)
  const place = await placeOf(world)
  await placeOf(world)
  expect(world.site.opened).toBe(1)
  await placeOf(world, { limits: { connections: 5, messages: 3 } })
  expect(world.site.opened).toBe(2)
  const one = sessionOf({ messages: 3 })
  place.release(one.session)
  expect(one.state.isClosing).toBe(true)
  const alone = poolWith(0)
  expect(await placeOf(alone, { isPrivate: true })).toMatchObject({ kind: 'place' })
  expect(alone.site.opened).toBe(0)
})
