import { afterAll, beforeAll, expect, test } from 'vitest'
import { countOpenMessages, killAt } from '../kill.ts'
import { letters } from '../letters.ts'
import { POINTS } from '../points.ts'
import { diceFor } from '../seed.ts'
import { startWorld, type World } from '../world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

test('a process killed at each point of a send leaves every message terminal with one event for each recipient, or no trace', async () => {
  const dice = diceFor('quick kills')
  // A statement that never arrives leaves the same state as the point before it. The long runs test these points too.
  const points = POINTS.filter(({ name }) => !name.endsWith('before it arrives'))
  let next = world.start()
  for (const [i, point] of points.entries()) {
    const node = await next
    next = world.start()
    expect(await killAt(node, letters(`point-${i + 1}`, 4, dice), point), point.name).toBe(true)
  }
  await next
  const { marked, unmarked } = countOpenMessages(world.logs)
  // Three of the points lie between claim and marker, and three between marker and record.
  expect(Math.min(marked, unmarked)).toBeGreaterThanOrEqual(3)
  expect(await world.verdict()).toEqual([])
})
