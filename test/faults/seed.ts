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
 * Random numbers (mulberry32) that depend on the seed and the purpose, but not on the numbers drawn for other purposes.
 */
export function diceFor(purpose: string): Dice {
  let state = [...purpose].reduce((sum, char) => Math.imul(sum ^ char.charCodeAt(0), 16_777_619), SEED)
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (from: number, to: number) => from + Math.floor(next() * (to - from + 1))
  return {
    between,
    pick: (from) => from[between(0, from.length - 1)]!,
    chance: (probability) => next() < probability,
  }
}
