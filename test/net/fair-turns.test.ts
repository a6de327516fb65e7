import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FairTurns } from '../../net/fair-turns.ts'

/** Resolves when the loop has ended its round: an immediate of this moment runs in the next one. */
const roundEnds = () => new Promise((resolve) => setImmediate(resolve))

test('a round of the event loop begins at most 32 pieces of work, and leaves none that could begin', async () => {
  const crowd = fc.array(
    fc.record({ account: fc.constantFrom('a', 'b', 'c'), pieces: fc.integer({ min: 1, max: 90 }) }),
  )
  await fc.assert(
    fc.asyncProperty(crowd, async (crowd) => {
      const turns = new FairTurns()
      let begun = 0
      const begin = async (account: string) => {
        await turns.take(account)
        begun++
      }
      const total = crowd.reduce((sum, { pieces }) => sum + pieces, 0)
      const all = crowd.flatMap(({ account, pieces }) => Array.from({ length: pieces }, () => begin(account)))
      for (let before = 0; begun < total; before = begun) {
        await roundEnds()
        expect(begun - before).toBeGreaterThan(0)
        // What began at once, and what the end of the round let begin.
        expect(begun - before).toBeLessThanOrEqual(64)
      }
      await Promise.all(all)
    }),
    { numRuns: 50 },
  )
})

test('one call of an account takes its turn within a round, however many of another one wait', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 20 }), async (waiting, rounds) => {
      const turns = new FairTurns()
      const crowd = Array.from({ length: waiting }, () => turns.take('crowd'))
      for (let round = 0; round < rounds; round++) await roundEnds()
      let begun = false
      const one = Promise.resolve(turns.take('one')).then(() => {
        begun = true
      })
      await roundEnds()
      expect(begun).toBe(true)
      await Promise.all([one, ...crowd])
    }),
    { numRuns: 50 },
  )
})

test('rounds that are long begin fewer pieces of work, down to one', async () => {
  const turns = new FairTurns()
  const begunIn: number[] = []
  let round = 0
  const begin = async () => {
    await turns.take('a')
    begunIn[round] = (begunIn[round] ?? 0) + 1
    const until = performance.now() + 15
    while (performance.now() < until);
  }
  const all = Array.from({ length: 40 }, begin)
  for (; round < 30; round++) await roundEnds()
  expect(begunIn.at(-1)).toBe(1)
  await Promise.all(all)
})

test('an account has as many pieces of work at hand as it leaves free, and another one begins at once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 400 }), async (accounts) => {
      const turns = new FairTurns()
      const ends: { account: string; end(): void }[] = []
      const all = accounts.map(async (account) => ends.push({ account, end: await turns.beginWork(account) }))
      for (let round = 0; round < 20; round++) await roundEnds()
      const held = Map.groupBy(ends, ({ account }) => account)
      for (const pieces of held.values()) expect(pieces.length).toBeLessThanOrEqual(128)
      let hasBegun = false
      const another = turns.beginWork('another').then((end) => {
        hasBegun = true
        end()
      })
      await roundEnds()
      expect(hasBegun).toBe(true)
      for (let ended = 0; ended < accounts.length; ended++) {
        while (ends.length === 0) await roundEnds()
        const { end } = ends.pop()!
        end()
        end()
      }
      await Promise.all([another, ...all])
    }),
    { numRuns: 30 },
  )
})
