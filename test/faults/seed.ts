/** FAULT_SEED replays a run: the same faults at the same places of the same sends. */
export const SEED = Number(process.env.FAULT_SEED ?? Math.floor(Math.random() * 2 ** 31))

export interface Dice {
  /** A whole number, both ends included. */
  between(from: number, to: number): number
  pick<T>(from: readonly T[]): T
  /** True so often in the long run. */
  chance(probability: number): boolean
}

/** Chances that depend on the seed and on what they are for, not on what was thrown elsewhere before (mulberry32). */
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
