/**
 * Amounts by key, which count what is limited by key, such as the open streams of an address. A key whose amount is
 * zero takes no memory.
 */
export function createKeyedAmounts() {
  const amounts = new Map<string, number>()
  /** The key's amount; 0 for a key without one. */
  const of = (key: string) => amounts.get(key) ?? 0

  return {
    of,
    /** Adds to the key's amount. A negative amount reduces it. */
    add(key: string, amount: number): void {
      const sum = of(key) + amount
      if (sum === 0) amounts.delete(key)
      else amounts.set(key, sum)
    },
  }
}
