/** Amounts by key. Only keys whose amount is not zero take memory. */
export interface Tally {
  /** The key's amount, 0 for a key that was never added to. */
  of(key: string): number
  /** Adds to the key's amount; a negative amount takes away from it. */
  add(key: string, amount: number): void
}

export function createTally(): Tally {
  const amounts = new Map<string, number>()
  const of = (key: string) => amounts.get(key) ?? 0

  return {
    of,
    add(key, amount) {
      const sum = of(key) + amount
      if (sum === 0) amounts.delete(key)
      else amounts.set(key, sum)
    },
  }
}
