import { expect, test } from 'vitest'
import { FairTurns } from '../../net/fair-turns.ts'
import { quietFor } from '../harness/waits.ts'

test('work whose caller leaves while it waits does not begin, and the next one of its account does', async () => {
  const turns = new FairTurns()
  const ends = await Promise.all(Array.from({ length: 128 }, () => turns.beginWork('crowd')))
  const leaving = new AbortController()
  const left = turns.beginWork('crowd', leaving)
  const next = turns.beginWork('crowd')
  leaving.abort(new Error('the caller left'))
  await expect(left).rejects.toThrow('the caller left')
  ends[0]!()
  expect(await next).toBeDefined()
})

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
