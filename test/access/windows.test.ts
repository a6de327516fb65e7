import { expect, test } from 'vitest'
import { createWindows } from '../../server/access/windows.ts'

test('a visit over the limit is not counted, and forgetting it changes nothing', () => {
  const visit = createWindows({ limit: 2, windowMs: 1_000 })
  const first = visit('ann')
  visit('ann')
  const over = visit('ann')
  expect(over).toMatchObject({ over: true, remaining: 0 })
  over.forget()
  expect(visit('ann').over).toBe(true)
  first.forget()
  expect(visit('ann')).toMatchObject({ over: false, remaining: 0 })
})

test('a window whose visits are all forgotten is forgotten too: the next visit opens a new one', () => {
  let now = 0
  const visit = createWindows({ limit: 2, windowMs: 1_000, now: () => now })
  visit('ann').forget()
  now = 600
  expect(visit('ann').leftMs).toBe(1_000)
})

test('forgetting a visit of a window that has ended does not change the next window', () => {
  let now = 0
  const visit = createWindows({ limit: 2, windowMs: 1_000, now: () => now })
  const earlier = visit('ann')
  now = 1_000
  visit('ann')
  earlier.forget()
  expect(visit('ann').remaining).toBe(0)
})
