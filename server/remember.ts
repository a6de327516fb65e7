const MAX_ENTRIES = 1_000

/**
 * Caches a pure function of a text, such as a parsed URL or an HMAC key, for about the last thousand texts. `more`
 * holds further arguments of `create`. They must depend on the text alone.
 */
export function remember<Value, More extends unknown[]>(
  create: (text: string, ...more: More) => Value,
): (text: string, ...more: More) => Value {
  const values = new Map<string, Value>()
  return (text, ...more) => {
    if (values.has(text)) return values.get(text)!
    const value = create(text, ...more)
    if (values.size === MAX_ENTRIES) values.clear()
    values.set(text, value)
    return value
  }
}
