import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Ask, EMPTY_BOOK, exchangeBook, type Grant, HOLD_MS } from '../../server/shaping/site-book.ts'

const ask = (process: string, nowMs: number, more: Partial<Ask> = {}): Ask => ({
  process,
  limits: { connections: 10, messages: 100 },
  open: 0,
  wanted: 4,
  messages: 0,
  succeeded: false,
  nowMs,
  ...more,
  accepted: more.accepted ?? more.open ?? 0,
})

const limits = { connections: 10, messages: 100, perMinute: 600 }

test('a process alone gets what it wants, up to the limit', () => {
  expect(exchangeBook(EMPTY_BOOK, ask('a', 0)).grant).toMatchObject({ places: 4, untilMs: HOLD_MS, isContended: false })
  expect(exchangeBook(EMPTY_BOOK, ask('a', 0, { wanted: 40 })).grant.places).toBe(10)
})

test('two busy processes share evenly at the end, and each keeps what it has open until it is closed', () => {
  const first = exchangeBook(EMPTY_BOOK, ask('a', 0, { wanted: 20 }))
  const second = exchangeBook(first.book, ask('b', 1, { wanted: 20 }))
  expect(second.grant).toMatchObject({ places: 0, isContended: true })
  const shrunk = exchangeBook(second.book, ask('a', 2, { wanted: 20, open: 10 }))
  expect(shrunk.grant.places).toBe(5)
  // Its ten connections are still open.
  expect(exchangeBook(shrunk.book, ask('b', 3, { wanted: 20 })).grant.places).toBe(0)
  const closed = exchangeBook(shrunk.book, ask('a', 4, { wanted: 20, open: 5 }))
  expect(exchangeBook(closed.book, ask('b', 5, { wanted: 20 })).grant).toMatchObject({ places: 5, isContended: false })
})

test('with fewer places than processes the one that waits longest comes next', () => {
  const one = { limits: { connections: 1, messages: 100 }, wanted: 3 }
  let { book, grant } = exchangeBook(EMPTY_BOOK, ask('a', 0, one))
  expect(grant.places).toBe(1)
  for (const [name, at] of [
    ['b', 1],
    ['c', 2],
  ] as const) {
    ;({ book, grant } = exchangeBook(book, ask(name, at, one)))
    expect(grant.places).toBe(0)
  }
  ;({ book, grant } = exchangeBook(book, ask('a', 1_500, { ...one, open: 1 })))
  expect(grant.places).toBe(0)
  ;({ book, grant } = exchangeBook(book, ask('a', 1_600, one)))
  ;({ book, grant } = exchangeBook(book, ask('c', 1_700, one)))
  expect(grant.places).toBe(0)
  ;({ book, grant } = exchangeBook(book, ask('b', 1_800, one)))
  expect(grant.places).toBe(1)
})

test('the places of a process that died are free after its time', () => {
  const { book } = exchangeBook(EMPTY_BOOK, ask('a', 0, { wanted: 10, open: 0 }))
  expect(exchangeBook(book, ask('b', HOLD_MS, {})).grant.places).toBe(0)
  expect(exchangeBook(book, ask('b', HOLD_MS + 2_000, {})).grant.places).toBe(4)
})

test('a refused connection leaves the places that are open over all processes, for each of them', () => {
  const first = exchangeBook(EMPTY_BOOK, ask('a', 0, { wanted: 5, open: 2 }))
  const second = exchangeBook(first.book, ask('b', 1, { wanted: 5 }))
  const refusal = { beganAtMs: 5, reply: '421 4.7.0 too many connections' }
  const slow = exchangeBook(second.book, ask('b', 6, { wanted: 5, open: 1, refusal }))
  expect(slow.book).toMatchObject({ pace: { places: 3 }, slowedSinceMs: 6, lastReply: { text: refusal.reply } })
  const shrunk = exchangeBook(slow.book, ask('a', 7, { wanted: 5, open: 2 }))
  expect(shrunk.grant.places).toBe(2)
})

test('a later refusal halves places and messages a minute; they come back minute by minute after ten', () => {
  const refused = (nowMs: number) => ({ limits, open: 4, refusal: { beganAtMs: nowMs - 1, reply: '421' } })
  let { book } = exchangeBook(EMPTY_BOOK, ask('a', 10, refused(10)))
  expect(book.pace).toMatchObject({ places: 4, perMinute: 600 })
  ;({ book } = exchangeBook(book, ask('a', 20, { ...refused(20), open: 1 })))
  expect(book.pace).toMatchObject({ places: 2, perMinute: 300 })
  const rise = (nowMs: number) => {
    ;({ book } = exchangeBook(book, ask('a', nowMs, { limits, open: 1, succeeded: true })))
    return book.pace
  }
  expect(rise(599_000)).toMatchObject({ places: 2, perMinute: 300 })
  expect(rise(601_000)).toMatchObject({ places: 3, perMinute: 360 })
  expect(rise(630_000)).toMatchObject({ places: 3 })
  for (let minute = 12; book.pace && minute < 30; minute++) rise(minute * 60_000)
  expect(book).not.toHaveProperty('pace')
  expect(book.slowedSinceMs).toBeUndefined()
  expect(book.lastReply).toMatchObject({ text: '421' })
})

interface Model {
  grant?: Grant
  open: number
  stock: number
  due: number[]
}

const step = fc.record({
  process: fc.constantFrom('a', 'b', 'c', 'd'),
  waitMs: fc.constantFrom(0, 1, 50, 700, 2_500, 25_000),
  wanted: fc.nat(12),
  /** How many connections it opens or closes before its exchange. */
  change: fc.integer({ min: -6, max: 6 }),
  sends: fc.nat(40),
  refused: fc.boolean(),
})

test('whatever processes do, a site never has more connections or messages a minute than its limits', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 9 }), (steps, connections) => {
      const perMinute = 120
      const processes = new Map<string, Model>()
      const sent: number[] = []
      let book = EMPTY_BOOK
      let nowMs = 1_000_000
      for (const { process, waitMs, wanted, change, sends, refused } of steps) {
        nowMs += waitMs
        // A process closes what it may no longer have. It learns of its time by its own clock.
        for (const model of processes.values()) if (model.grant && model.grant.untilMs <= nowMs) model.open = 0
        const model = processes.get(process) ?? { open: 0, stock: 0, due: [] }
        processes.set(process, model)
        const places = model.grant && model.grant.untilMs > nowMs ? model.grant.places : 0
        model.open =
          change < 0 ? Math.max(0, model.open + change) : Math.max(model.open, Math.min(model.open + change, places))
        const isDue = model.due.filter((at) => at <= nowMs).length
        model.due = model.due.filter((at) => at > nowMs)
        model.stock = Math.min((model.grant?.maxStock ?? 0) + sends, model.stock + isDue)
        const sending = Math.min(sends, model.stock)
        sent.push(...Array.from({ length: sending }, () => nowMs))
        model.stock = Math.min(model.stock - sending, model.grant?.maxStock ?? 0)
        const refusal = refused ? { beganAtMs: nowMs, reply: '421' } : undefined
        const given = exchangeBook(
          book,
          ask(process, nowMs, {
            limits: { connections, messages: 100, perMinute },
            open: model.open,
            wanted,
            messages: sends,
            refusal,
          }),
        )
        book = given.book
        model.grant = given.grant
        model.due.push(...(given.grant.dueMs ?? []))
        const open = [...processes.values()].reduce((sum, one) => sum + one.open, 0)
        expect(open).toBeLessThanOrEqual(connections)
      }
      for (const at of sent) {
        expect(sent.filter((other) => other >= at && other < at + 60_000).length).toBeLessThanOrEqual(perMinute)
      }
    }),
    { numRuns: 300 },
  )
})
