import { expect, test } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { slowMail, terminateUnderLoad } from './drain.ts'
import { diceFor } from './seed.ts'
import { startFaultWorld, type World } from './world.ts'

let world: World

test('after each of 50 SIGTERMs under load, accepted requests get their responses and no message is cut after the dot', async () => {
  const dice = diceFor('drains')
  world = untilEnd(await startFaultWorld({ mail: slowMail(dice) }))
  const counts = await terminateUnderLoad(world, 50, dice)
  console.log(counts)
  expect(counts.delivered).toBeGreaterThan(100)
  expect(counts).not.toHaveProperty('lost')
  expect(counts).not.toHaveProperty('in_doubt')
  expect(await world.verdict()).toEqual([])
})
