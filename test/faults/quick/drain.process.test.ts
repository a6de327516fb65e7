import { afterEach, expect, test } from 'vitest'
import { patientMail, terminateUnderLoad } from '../drain.ts'
import { diceFor } from '../seed.ts'
import { startWorld, type World } from '../world.ts'

let world: World
afterEach(() => world.stop())

test('SIGTERM under load: what was accepted is answered, nothing is cut after the dot, the exit code is 0', async () => {
  const dice = diceFor('quick drains')
  world = await startWorld({ mail: patientMail(dice) })
  const counts = await terminateUnderLoad(world, 2, dice)
  expect(counts.delivered).toBeGreaterThan(0)
  expect(counts).not.toHaveProperty('lost')
  expect(counts).not.toHaveProperty('in_doubt')
  expect(await world.verdict()).toEqual([])
})
