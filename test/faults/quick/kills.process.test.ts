import { expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { killAt, leastOpen } from '../kill.ts'
import { letters } from '../letters.ts'
import { POINTS } from '../points.ts'
import { diceFor } from '../seed.ts'
import { startFaultWorld } from '../world.ts'

const world = untilEnd(await startFaultWorld())

test('a process killed at each point of a send leaves every message terminal with one event for each recipient, or no trace', async () => {
  const dice = diceFor('quick kills')
  // A statement that never arrives leaves the same state as the point before it. The long runs test these points too.
  const points = POINTS.filter(({ name }) => !name.endsWith('before it arrives'))
  let next = world.start()
  // One round certainly leaves three messages open with a marker and three without. More depend on the machine.
  for (let round = 1; round <= 2 && leastOpen(world.logs) <= 3; round++) {
    for (const [i, point] of points.entries()) {
      const node = await next
      next = world.start()
      expect(await killAt(node, letters(`point-${round}-${i + 1}`, 4, dice), point), point.name).toBe(true)
    }
  }
  await next
  expect(leastOpen(world.logs)).toBeGreaterThan(3)
  expect(await world.verdict()).toEqual([])
})
