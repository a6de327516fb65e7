import { expect, test } from 'vitest'
import { firstBreach, LAWS } from './laws/laws.ts'

const CASES = 250
/** A new one in each run; a breach names it. */
const NEW_SEED = Math.floor(Math.random() * 2 ** 31)

test.each(LAWS.map((law) => [law.name, law] as const))('%s', (_, law) => {
  for (const seed of [1, NEW_SEED]) expect(firstBreach(law, seed, (drawn) => drawn < CASES)).toBeUndefined()
})
