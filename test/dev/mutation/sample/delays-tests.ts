import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { delayAfter, delayOf, sumOfDelays, TEMPORARY } from './delays.ts'

test('an attempt has its delay', () => {
  expect(delayOf(1)).toBe(60)
  expect(delayOf(5)).toBe(600)
  expect(sumOfDelays(2)).toBe(180)
  expect(TEMPORARY.has('busy')).toBe(true)
})

test('a delay begins after a wait, if there is one', async () => {
  expect(await delayAfter(1, false)).toBe(60)
})

test('a test starts threads', async () => {
  expect(await once(new Worker(new URL('data:text/javascript,')), 'exit')).toEqual([0])
})
