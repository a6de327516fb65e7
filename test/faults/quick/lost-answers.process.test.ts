import { afterEach, expect, test } from 'vitest'
import { hopelessLetters, letters } from '../letters.ts'
import { runLoad } from '../load.ts'
import { CLAIM, endOf, MARKER, RECORD, SETTLE } from '../points.ts'
import { diceFor } from '../seed.ts'
import { startWorld, type World } from '../world.ts'

let world: World
afterEach(() => world.stop())

test('the database does what it is told and its answers are lost: no 500 after a marker, and everything reconciles', async () => {
  const dice = diceFor('quick losses')
  world = await startWorld()
  const node = await world.start()
  const losses = new Map([CLAIM, MARKER, RECORD, SETTLE].map((sql) => [sql, 0]))
  node.wire.onEvent = (event) => {
    const step = [...losses.keys()].find((sql) => endOf(sql)(event))
    // The first two of each step in any case.
    if (!step || (losses.get(step)! > 1 && !dice.chance(0.25))) return undefined
    losses.set(step, losses.get(step)! + 1)
    return 'reset'
  }
  const post = [...letters('losses', 100, dice), ...hopelessLetters('hopeless-losses', 40)]
  await runLoad(10, post, () => node).ended
  node.wire.onEvent = () => undefined
  expect(Math.min(...losses.values())).toBeGreaterThan(1)
  expect(await world.verdict()).toEqual([])
})
