import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createPauseQueue } from '../../server/async/pause-queue.ts'

test('each piece of work that becomes due at the same moment runs in its own turn of the event loop', async () => {
  const nextTurn = createPauseQueue(() => setImmediate())
  let turn = 0
  let isOver = false
  const counting = (async () => {
    for (; !isOver; turn++) await setImmediate()
  })()
  const turns = await Promise.all(Array.from({ length: 5 }, () => nextTurn().then(() => turn)))
  isOver = true
  await counting
  expect(new Set(turns).size).toBe(5)
  expect(turns).toEqual(turns.toSorted((a, b) => a - b))
})
