import { expect, test } from 'vitest'
import { firstIdAt, newId } from '../../server/db/ids.ts'
import type { EventReads, Horizon, ReadEvent } from '../../server/stream/read-events.ts'
import { type Batch, Tail } from '../../server/stream/tail.ts'
import { outlast, quietFor } from '../harness/waits.ts'

const DAY_MS = 86_400_000
const ACCOUNT = newId(1)

/** A tail over a database whose horizon the test sets. It records since when each read looks for events. */
function tailOf(horizon: Partial<Horizon>) {
  const state = { cluster: '1', timeline: 1, order: 10, next: 10, isKept: true, ...horizon }
  const now = { ms: 100 * DAY_MS }
  const since: number[] = []
  const rows: ReadEvent[] = []
  const taken: Batch<string>[] = []
  const ends: unknown[] = []
  const reads: Pick<EventReads, 'horizon' | 'readNew'> = {
    horizon: async () => ({ ...state }),
    async readNew(_, sinceMs) {
      since.push(sinceMs)
      return rows.splice(0)
    },
  }
  const tail = new Tail<string>({
    reads,
    clock: { now: () => now.ms, stop() {} },
    show: async (_, rows) => rows.map((row) => ({ row, shown: row.id })),
    report: () => {},
  })
  const follow = (
    cursor = { order: 5, id: newId(99 * DAY_MS) },
    end: (cause: unknown) => void = (cause) => void ends.push(cause),
  ) => tail.follow(ACCOUNT, cursor, { take: (batch) => taken.push(batch), end })
  return { tail, state, now, since, rows, taken, ends, follow }
}

const event = (order: number) =>
  ({ id: newId(99 * DAY_MS), accountId: ACCOUNT, streamOrder: order, timeline: 1 }) as ReadEvent

test('nothing is read while the horizon stays, and new events when it moves', async () => {
  const world = tailOf({})
  const leave = world.follow()!
  await expect.poll(() => world.since.length).toBe(1)
  await quietFor(350)
  expect(world.since).toHaveLength(1)
  world.rows.push(event(11))
  Object.assign(world.state, { order: 12, next: 12 })
  await expect.poll(() => world.taken.length).toBe(1)
  leave()
  world.tail.stop()
})

test('events that a foreign transaction held for days are looked for since it began', async () => {
  const world = tailOf({ order: 20, next: 20 })
  world.follow()
  await expect.poll(() => world.since.length).toBe(1)
  const beganMs = world.now.ms
  // It begins, and others end after it.
  Object.assign(world.state, { order: 20, next: 25 })
  await outlast(250)
  world.now.ms += 3 * DAY_MS
  // Another one of that time is still open.
  Object.assign(world.state, { order: 21, next: 90 })
  await expect.poll(() => world.since.length).toBe(2)
  Object.assign(world.state, { order: 90, next: 90 })
  await expect.poll(() => world.since.length).toBe(3)
  expect(Math.max(...world.since)).toBeLessThanOrEqual(beganMs)
  expect(world.tail.heldMs()).toBe(0)
  world.tail.stop()
})

test('how long events are held back is known', async () => {
  const world = tailOf({ order: 20, next: 20 })
  world.follow()
  await expect.poll(() => world.since.length).toBe(1)
  Object.assign(world.state, { order: 20, next: 21 })
  await outlast(250)
  world.now.ms += 60_000
  expect(world.tail.heldMs()).toBeGreaterThanOrEqual(60_000)
  world.tail.stop()
})

test('a stream that is behind the reader is told to read on by itself', async () => {
  const world = tailOf({})
  world.follow({ order: 5, id: newId(99 * DAY_MS) })
  expect(world.follow({ order: 4, id: newId(99 * DAY_MS) })).toBeUndefined()
  expect(world.follow({ order: 0, id: firstIdAt(0) })).toBeUndefined()
  expect(world.follow({ order: 6, id: newId(99 * DAY_MS) })).toBeDefined()
  world.tail.stop()
})

test('another timeline ends all streams', async () => {
  const world = tailOf({})
  world.follow()
  await expect.poll(() => world.since.length).toBe(1)
  Object.assign(world.state, { timeline: 2, order: 12, next: 12 })
  await expect.poll(() => world.ends.length).toBe(1)
  expect(world.taken).toEqual([])
})

test('events of another timeline than that of the horizon are not passed on', async () => {
  const world = tailOf({})
  world.follow()
  await expect.poll(() => world.since.length).toBe(1)
  world.rows.push({ ...event(11), timeline: 2 })
  Object.assign(world.state, { order: 12, next: 12 })
  await expect.poll(() => world.ends.length).toBe(1)
  expect(world.taken).toEqual([])
})

test('a stream that begins anew at once on another timeline goes on', async () => {
  const world = tailOf({})
  world.follow(undefined, () => world.follow())
  await expect.poll(() => world.since.length).toBe(1)
  Object.assign(world.state, { timeline: 2, order: 12, next: 12 })
  await expect.poll(() => world.since.length).toBe(2)
  world.rows.push({ ...event(13), timeline: 2 })
  Object.assign(world.state, { order: 14, next: 14 })
  await expect.poll(() => world.taken.length).toBe(1)
  expect(world.ends).toEqual([])
  world.tail.stop()
})
