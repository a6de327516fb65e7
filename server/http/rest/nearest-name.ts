const MOST_CHANGES = 2

/** The name that a caller may have meant: the same letters, one within the other, or two letters away at most. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const plain = (text: string) => text.replaceAll(/[^\p{L}\p{N}]/gu, '').toLowerCase()
  const given = plain(name)
  if (given.length < MOST_CHANGES) return undefined
  const rated = names.map((known) => ({ known, changes: changesBetween(given, plain(known)) }))
  const [best] = rated.toSorted((a, b) => a.changes - b.changes)
  if (best && best.changes <= Math.min(MOST_CHANGES, given.length / 3)) return best.known
  return names.find((known) => given.startsWith(plain(known)) || plain(known).startsWith(given))
}

/** How many letters to insert, drop, replace or exchange with the next one. */
function changesBetween(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= from.length; i++) {
    const [row, above, before] = [[i], rows[i - 1]!, rows[i - 2]]
    for (let j = 1; j <= to.length; j++) {
      const replaced = above[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      const isExchanged = before && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      row.push(Math.min(row[j - 1]! + 1, above[j]! + 1, replaced, isExchanged ? before[j - 2]! + 1 : replaced))
    }
    rows.push(row)
  }
  return rows.at(-1)!.at(-1)!
}
