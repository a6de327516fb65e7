import fc from 'fast-check'
import { expect, test } from 'vitest'
import { accepted, type SitePace, slowed, succeeded } from '../../../mail/smtp/site-pace.ts'

const MINUTE = 60_000

test('the first refusal leaves the places that the site has accepted, and at least one', () => {
  expect(slowed(undefined, { open: 7, beganAtMs: 0, nowMs: 5 }).places).toBe(7)
  expect(slowed(undefined, { open: 0, beganAtMs: 0, nowMs: 5 }).places).toBe(1)
})

test('the refusals of one burst count once, and a later one halves the places', () => {
  const first = slowed(undefined, { open: 7, beganAtMs: 0, nowMs: 5 })
  expect(slowed(first, { open: 7, beganAtMs: 4, nowMs: 9 })).toBe(first)
  const second = slowed(first, { open: 7, beganAtMs: 6, nowMs: 9 })
  expect(second).toMatchObject({ places: 3, slowedAtMs: 9 })
  const third = slowed(second, { open: 3, beganAtMs: 10, nowMs: 11 })
  expect(third.places).toBe(1)
  expect(slowed(third, { open: 1, beganAtMs: 12, nowMs: 13 }).places).toBe(1)
})

test('a site that accepts more connections of the burst than were open at the refusal gets these places', () => {
  const pace = slowed(undefined, { open: 0, beganAtMs: 0, nowMs: 5 })
  expect(accepted(pace, 2).places).toBe(2)
  expect(accepted(accepted(pace, 2), 1).places).toBe(2)
})

test('after ten minutes each minute in which a message succeeded adds a place, until the limit is reached', () => {
  let pace: SitePace | undefined = slowed(undefined, { open: 2, beganAtMs: 0, nowMs: 0 })
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
  const first = slowed(undefined, { open: 4, beganAtMs: 0, nowMs: 0 })
  const again = slowed(succeeded(first, { connections: 9 }, 10 * MINUTE)!, {
    open: 4,
    beganAtMs: 10.2 * MINUTE,
    nowMs: 10.5 * MINUTE,
  })
  expect(again.places).toBe(2)
  expect(succeeded(again, { connections: 9 }, 20.4 * MINUTE)!.places).toBe(2)
  expect(succeeded(again, { connections: 9 }, 20.5 * MINUTE)!.places).toBe(3)
})

test('each refusal of a rate halves the places and the messages a minute, also where no limit sets a number', () => {
  fc.assert(
    fc.property(
      fc.record({
        open: fc.integer({ min: 0, max: 50 }),
        mailed: fc.integer({ min: 0, max: 10_000 }),
        limit: fc.option(fc.integer({ min: 1, max: 5_000 }), { nil: undefined }),
        refusals: fc.array(fc.integer({ min: 1, max: MINUTE }), { minLength: 1, maxLength: 20 }),
      }),
      ({ open, mailed, limit, refusals }) => {
        let pace: SitePace | undefined
        let [places, perMinute] = [open, Math.max(1, limit ?? mailed)]
        let nowMs = 0
        for (const afterMs of refusals) {
          nowMs += afterMs
          pace = slowed(pace, { open, beganAtMs: nowMs - 1, nowMs, mailed }, limit)
          places = Math.max(1, Math.floor(places / 2))
          perMinute = Math.max(1, Math.floor(perMinute / 2))
          expect(pace).toMatchObject({ places, perMinute })
          // Connections that are still open raise nothing, and neither does what began before.
          expect(accepted(pace, open)).toBe(pace)
          expect(slowed(pace, { open, beganAtMs: nowMs - 1, nowMs, mailed }, limit)).toBe(pace)
        }
      },
    ),
  )
})

test('a rate that a site refused comes back by a tenth a minute, until the site gets what it got before', () => {
  let pace: SitePace | undefined = slowed(undefined, { open: 2, beganAtMs: 0, nowMs: 0, mailed: 600 })
  const rates: (number | undefined)[] = []
  for (let minute = 10; pace && minute < 30; minute++) {
    pace = succeeded(pace, { connections: 3 }, minute * MINUTE)
    rates.push(pace?.perMinute)
  }
  expect(rates).toEqual([360, 420, 480, 540, undefined])
})

test('a pace without messages a minute starts from the limit that a site got meanwhile', () => {
  const pace = slowed(undefined, { open: 2, beganAtMs: 0, nowMs: 0 })
  expect(succeeded(pace, { connections: 9, perMinute: 60 }, 10 * MINUTE)).toMatchObject({ places: 3, perMinute: 60 })
})
