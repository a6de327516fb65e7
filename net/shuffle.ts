/** The items in random order. */
export function shuffle<T>(items: readonly T[], random: () => number = Math.random): T[] {
  const diced = items.map((item) => ({ item, dice: random() }))
  return diced.sort((a, b) => a.dice - b.dice).map(({ item }) => item)
}
