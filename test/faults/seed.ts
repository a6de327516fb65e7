import { createRandom } from '../../dev/demo/random.ts'

/** FAULT_SEED repeats a run with the same faults at the same places of the same sends. */
export const SEED = Number(process.env.FAULT_SEED ?? Math.floor(Math.random() * 2 ** 31))

export interface Dice {
  /** A random integer, both bounds included. */
  between(from: number, to: number): number
  pick<T>(from: readonly T[]): T
  /** True with this probability. */
  chance(probability: number): boolean
}

/**
 * Random numbers that depend on the seed and the purpose, but not on the numbers drawn for other purposes.
 */
export function diceFor(purpose: string): Dice {
  const seed = [...purpose].reduce((sum, char) => Math.imul(sum ^ char.charCodeAt(0), 16_777_619), SEED)
  const { whole, one, share } = createRandom(seed)
  return { between: whole, pick: one, chance: (probability) => share() < probability }
}
