import { afterEach, expect, test } from 'vitest'
import { patientMail } from './drain.ts'
import { letters } from './letters.ts'
import { runLoad, tally } from './load.ts'
import { diceFor } from './seed.ts'
import { openRows } from './snapshot.ts'
import { startWorld, type World } from './world.ts'

let world: World
afterEach(() => world.stop())

test('2,000 callers reset their connections in the middle: what had a marker is stored, the rest is gone', async () => {
  const dice = diceFor('leaving')
  world = await startWorld({ mail: patientMail(dice) })
  const node = await world.start()
  // One in five stays.
  const leaveAfterMs = () => (dice.chance(0.8) ? dice.between(0, 300) : 60_000)
  const counts = tally(await runLoad(50, letters('leaving', 4_000, dice), () => node, leaveAfterMs).ended)
  console.log(counts)
  expect(counts.lost).toBeGreaterThan(2_000)
  expect(counts[500]).toBeUndefined()
  // Who left before the marker left nothing, and who left after it waits for nobody: no lease has to end.
  await expect.poll(() => openRows(world.sql)).toEqual([])
  expect(await world.verdict()).toEqual([])
})
