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

/** How many letters to insert, drop or replace (Levenshtein's distance). */
function changesBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (const [i, letter] of [...from].entries()) {
    let [left, diagonal] = [i + 1, i]
    row = row.map((above, j) => {
      if (j > 0) left = Math.min(left + 1, above + 1, diagonal + (letter === to[j - 1] ? 0 : 1))
      diagonal = above
      return left
    })
  }
  return row.at(-1) ?? 0
}
