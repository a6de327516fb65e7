/** Amounts by key. A key whose amount is zero takes no memory. */
export interface KeyedAmounts {
  /** The key's amount; 0 for a key without one. */
  of(key: string): number
  /** Adds to the key's amount. A negative amount reduces it. */
  add(key: string, amount: number): void
}

/** Creates an empty tally. It counts what is limited by key, such as the open streams of an address. */
export function createKeyedAmounts(): KeyedAmounts {
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
