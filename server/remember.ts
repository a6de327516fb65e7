const KEPT = 1_000

/**
 * Makes the value of a text once, and has it at hand from then on: of the last thousand texts or so. `more` is what making it takes
 * and the text alone decides about.
 */
export function remember<Value, More extends unknown[]>(
  make: (text: string, ...more: More) => Value,
): (text: string, ...more: More) => Value {
  const known = new Map<string, Value>()
  return (text, ...more) => {
    if (known.has(text)) return known.get(text)!
    const value = make(text, ...more)
    if (known.size === KEPT) known.clear()
    known.set(text, value)
    return value
  }
}
