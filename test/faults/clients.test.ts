import { expect, test } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { slowMail } from './drain.ts'
import { letters } from './letters.ts'
import { runLoad, tally } from './load.ts'
import { diceFor } from './seed.ts'
import { openRows } from './snapshot.ts'
import { startFaultWorld, type World } from './world.ts'

let world: World

test('after 2,000 callers reset their connections during a send, messages with a marker are stored and all others are gone', async () => {
  const dice = diceFor('leaving')
  world = untilEnd(await startFaultWorld({ mail: slowMail(dice) }))
  const node = await world.start()
  // One caller in five stays.
  const leaveAfterMs = () => (dice.chance(0.8) ? dice.between(0, 300) : 60_000)
  const counts = tally(await runLoad(50, letters('leaving', 4_000, dice), () => node, leaveAfterMs).ended)
  console.log(counts)
  expect(counts.lost).toBeGreaterThan(2_000)
  expect(counts[500]).toBeUndefined()
  // A caller that left before the marker leaves nothing. After the marker the send ends by itself, so no lease has to
  // expire.
  await expect.poll(() => openRows(world.sql)).toEqual([])
  expect(await world.verdict()).toEqual([])
})
