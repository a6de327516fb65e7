import { expect, test } from 'vitest'
import { deadlinesOf, ENGINE_LIMITS } from '../../../mail/smtp/engine-limits.ts'

test.each([
  [4_000, 1_000],
  [20_000, 5_000],
  [30_000, 15_000],
  [40_000, 25_000],
  [60_000, 45_000],
])('of %i ms the reply to the dot gets 15 s, but never more than three quarters', (budgetMs, beforeDotMs) => {
  const { dotMs, endMs, placeMs } = deadlinesOf(1_000, budgetMs, ENGINE_LIMITS)
  expect(endMs).toBe(1_000 + budgetMs)
  expect(dotMs).toBe(1_000 + beforeDotMs)
  expect(placeMs).toBeGreaterThan(1_000)
  expect(placeMs).toBeLessThan(dotMs)
})
