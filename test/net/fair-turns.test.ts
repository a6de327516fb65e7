import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFairTurns } from '../../net/fair-turns.ts'

/** Resolves when the loop has ended its round: an immediate of this moment runs in the next one. */
const roundEnds = () => new Promise((resolve) => setImmediate(resolve))

test('a round of the event loop begins at most 16 pieces of work, and leaves none that could begin', async () => {
  const crowd = fc.array(
    fc.record({ account: fc.constantFrom('a', 'b', 'c'), pieces: fc.integer({ min: 1, max: 90 }) }),
  )
  await fc.assert(
    fc.asyncProperty(crowd, async (crowd) => {
      const takeTurn = createFairTurns()
      let begun = 0
      const begin = async (account: string) => {
        await takeTurn(account)
        begun++
      }
      const total = crowd.reduce((sum, { pieces }) => sum + pieces, 0)
      const all = crowd.flatMap(({ account, pieces }) => Array.from({ length: pieces }, () => begin(account)))
      for (let before = 0; begun < total; before = begun) {
        await roundEnds()
        expect(begun - before).toBeGreaterThan(0)
        // What began at once, and what the end of the round let begin.
        expect(begun - before).toBeLessThanOrEqual(32)
      }
      await Promise.all(all)
    }),
    { numRuns: 50 },
  )
})

test('one call of an account begins within a round, however many of another one wait', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 20 }), async (waiting, rounds) => {
      const takeTurn = createFairTurns()
      const crowd = Array.from({ length: waiting }, () => takeTurn('crowd'))
      for (let round = 0; round < rounds; round++) await roundEnds()
      let begun = false
      const one = Promise.resolve(takeTurn('one')).then(() => {
        begun = true
      })
      await roundEnds()
      expect(begun).toBe(true)
      await Promise.all([one, ...crowd])
    }),
    { numRuns: 50 },
  )
})
