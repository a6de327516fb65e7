import { afterEach, expect, test } from 'vitest'
import { letters, unreachableLetters } from '../letters.ts'
import { runLoad } from '../load.ts'
import { CLAIM, endOf, MARKER, RECORD, SETTLE } from '../points.ts'
import { diceFor } from '../seed.ts'
import { startFaultWorld, type World } from '../world.ts'

let world: World
afterEach(() => world.stop())

test('no send gets a 500 after its marker, and everything reconciles, when responses of the database are lost', async () => {
  const dice = diceFor('quick losses')
  world = await startFaultWorld()
  const node = await world.start()
  const losses = new Map([CLAIM, MARKER, RECORD, SETTLE].map((sql) => [sql, 0]))
  node.wire.onEvent = (event) => {
    const step = [...losses.keys()].find((sql) => endOf(sql)(event))
    // Always loses the first two of each step.
    if (!step || (losses.get(step)! > 1 && !dice.chance(0.25))) return undefined
    losses.set(step, losses.get(step)! + 1)
    return 'reset'
  }
  const allLetters = [...letters('losses', 100, dice), ...unreachableLetters('hopeless-losses', 40)]
  await runLoad(10, allLetters, () => node).ended
  node.wire.onEvent = () => undefined
  expect(Math.min(...losses.values())).toBeGreaterThan(1)
  expect(await world.verdict()).toEqual([])
})
