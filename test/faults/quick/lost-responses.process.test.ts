import { expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { letters, unreachableLetters } from '../letters.ts'
import { runLoad, tally } from '../load.ts'
import { CLAIM, endOf, MARKER, RECORD, SETTLE } from '../points.ts'
import { diceFor } from '../seed.ts'
import { startFaultWorld, type World } from '../world.ts'

let world: World

test('no send gets a 500 after its marker, and everything reconciles, when responses of the database are lost', async () => {
  const dice = diceFor('quick losses')
  world = untilEnd(await startFaultWorld())
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
  const entries = await runLoad(10, allLetters, () => node).ended
  node.wire.onEvent = () => undefined
  console.log(tally(entries), losses)
  expect(Math.min(...losses.values())).toBeGreaterThan(1)
  // A send that lost its claim begins again, and a lost marker is set again. A busy machine may give a few up.
  expect(tally(entries)[500] ?? 0).toBeLessThan(losses.get(CLAIM)! / 2)
  expect(await world.verdict()).toEqual([])
})
