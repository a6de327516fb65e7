/** Numbers that look random, and are the same for the same seed (mulberry32). */
export interface Random {
  /** From 0 up to, but not including, 1. */
  share(): number
  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number
  one<Item>(items: readonly Item[]): Item
  /** One item. Its weight is its share of the draws. */
  weighted<Item extends { weight: number }>(items: readonly Item[]): Item
  hex(digits: number): string
}

export function createRandom(seed: number): Random {
  let state = seed
  const share = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (low: number, high: number) => low + Math.floor(share() * (high - low + 1))
  return {
    share,
    whole,
    one: (items) => items[whole(0, items.length - 1)]!,
    weighted(items) {
      let rest = share() * items.reduce((sum, { weight }) => sum + weight, 0)
      return (
        items.find(({ weight }) => {
          rest -= weight
          return rest < 0
        }) ?? items[0]!
      )
    },
    hex: (digits) => Array.from({ length: digits }, () => whole(0, 15).toString(16)).join(''),
  }
}
