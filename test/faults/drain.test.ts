import { afterEach, expect, test } from 'vitest'
import { patientMail, terminateUnderLoad } from './drain.ts'
import { diceFor } from './seed.ts'
import { startWorld, type World } from './world.ts'

let world: World
afterEach(() => world.stop())

test('SIGTERM under load, 50 times: what was accepted is answered, nothing is cut after the dot', async () => {
  const dice = diceFor('drains')
  world = await startWorld({ mail: patientMail(dice) })
  const counts = await terminateUnderLoad(world, 50, dice)
  console.log(counts)
  expect(counts.delivered).toBeGreaterThan(100)
  expect(counts).not.toHaveProperty('lost')
  expect(counts).not.toHaveProperty('in_doubt')
  expect(await world.verdict()).toEqual([])
})
