import { expect, test } from 'vitest'
import { accepted, type SitePace, slowed, succeeded } from '../../../mail/smtp/site-pace.ts'

const MINUTE = 60_000

test('the first refusal leaves the places that the site has accepted, and at least one', () => {
  expect(slowed(undefined, { open: 7, dialledAtMs: 0, nowMs: 5 }).places).toBe(7)
  expect(slowed(undefined, { open: 0, dialledAtMs: 0, nowMs: 5 }).places).toBe(1)
})

test('the refusals of one burst count once, and a later one halves the places', () => {
  const first = slowed(undefined, { open: 7, dialledAtMs: 0, nowMs: 5 })
  expect(slowed(first, { open: 7, dialledAtMs: 4, nowMs: 9 })).toBe(first)
  const second = slowed(first, { open: 7, dialledAtMs: 6, nowMs: 9 })
  expect(second).toMatchObject({ places: 3, slowedAtMs: 9 })
  const third = slowed(second, { open: 3, dialledAtMs: 10, nowMs: 11 })
  expect(third.places).toBe(1)
  expect(slowed(third, { open: 1, dialledAtMs: 12, nowMs: 13 }).places).toBe(1)
})

test('a site that accepts more connections of the burst than were open at the refusal gets these places', () => {
  const pace = slowed(undefined, { open: 0, dialledAtMs: 0, nowMs: 5 })
  expect(accepted(pace, 2).places).toBe(2)
  expect(accepted(accepted(pace, 2), 1).places).toBe(2)
})

test('after ten minutes each minute in which a message succeeded adds a place, until the limit is reached', () => {
  let pace: SitePace | undefined = slowed(undefined, { open: 2, dialledAtMs: 0, nowMs: 0 })
  const placesAfterSuccessAt = (minutes: number) => {
    pace = pace && succeeded(pace, { connections: 5 }, minutes * MINUTE)
    return pace?.places
  }
  expect([1, 9, 9.99].map(placesAfterSuccessAt)).toEqual([2, 2, 2])
  expect([10, 10.1, 10.9, 11, 15.5, 16, 16.5].map(placesAfterSuccessAt)).toEqual([
    3,
    3,
    3,
    4,
    undefined,
    undefined,
    undefined,
  ])
})

test('a refusal starts the ten minutes again', () => {
  const first = slowed(undefined, { open: 4, dialledAtMs: 0, nowMs: 0 })
  const again = slowed(succeeded(first, { connections: 9 }, 10 * MINUTE)!, {
    open: 4,
    dialledAtMs: 10.2 * MINUTE,
    nowMs: 10.5 * MINUTE,
  })
  expect(again.places).toBe(2)
  expect(succeeded(again, { connections: 9 }, 20.4 * MINUTE)!.places).toBe(2)
  expect(succeeded(again, { connections: 9 }, 20.5 * MINUTE)!.places).toBe(3)
})
