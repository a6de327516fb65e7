import { expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { slowMail, terminateUnderLoad } from '../drain.ts'
import { diceFor } from '../seed.ts'
import { startFaultWorld, type World } from '../world.ts'

let world: World

test('after SIGTERM under load, accepted requests get their responses, no message is cut after the dot, and the exit code is 0', async () => {
  const dice = diceFor('quick drains')
  world = untilEnd(await startFaultWorld({ mail: slowMail(dice) }))
  const counts = await terminateUnderLoad(world, 2, dice)
  expect(counts.delivered).toBeGreaterThan(0)
  expect(counts).not.toHaveProperty('lost')
  expect(counts).not.toHaveProperty('in_doubt')
  expect(await world.verdict()).toEqual([])
})
