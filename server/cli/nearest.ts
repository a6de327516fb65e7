/** The known command that takes the fewest edits to get to from the words that were typed. */
export function nearest(typed: string, known: readonly string[]): string {
  const [first, second = ''] = typed.split(' ')
  const distance = (command: string) => {
    const [group, name] = command.split(' ')
    // What follows a command of one word is its argument.
    return edits(first!, group!) + (name === undefined ? 0 : edits(second, name))
  }
  return known.reduce((best, command) => (distance(command) < distance(best) ? command : best))
}

/** How many letters have to be added, removed or changed to make one text of the other (Levenshtein). */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1]
    for (let j = 0; j < to.length; j++) {
      next.push(Math.min(row[j]! + (letter === to[j] ? 0 : 1), row[j + 1]! + 1, next[j]! + 1))
    }
    row = next
  }
  return row[to.length]!
}
