import { expect, test } from 'vitest'
import { FairTurns } from '../../net/fair-turns.ts'
import { quietFor } from '../harness/waits.ts'

test('a piece of work that takes over a second makes place for the next ones of its account', async () => {
  const turns = new FairTurns()
  let begun = 0
  const crowd = Array.from({ length: 300 }, async () => {
    const end = await turns.beginWork('crowd')
    begun++
    return end
  })
  await quietFor(500)
  expect(begun).toBe(128)
  const ends = await Promise.all(crowd)
  for (const end of ends) end()
  expect(begun).toBe(300)
})
