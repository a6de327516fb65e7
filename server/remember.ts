const KEPT = 1_000

/** Makes the value of a text once, and has it at hand from then on: of the last thousand texts or so. */
export function remember<Value>(make: (text: string) => Value): (text: string) => Value {
  const known = new Map<string, Value>()
  return (text) => {
    if (known.has(text)) return known.get(text)!
    const value = make(text)
    if (known.size === KEPT) known.clear()
    known.set(text, value)
    return value
  }
}
