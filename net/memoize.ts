import { createBoundedMap } from './bounded-map.ts'

const MAX_ENTRIES = 1_000
const MAX_CHARACTERS = 2 ** 20

/**
 * Caches a pure function of a text, such as a parsed URL or an HMAC key, for the last thousand texts. `more`
 * holds further arguments of `create`. They must depend on the text alone.
 */
export function memoize<Value, More extends unknown[]>(
  create: (text: string, ...more: More) => Value,
): (text: string, ...more: More) => Value {
  const values = createBoundedMap<{ value: Value }>({ maxEntries: MAX_ENTRIES, maxCharacters: MAX_CHARACTERS })
  return (text, ...more) => {
    const known = values.get(text)
    if (known) return known.value
    const value = create(text, ...more)
    values.set(text, { value })
    return value
  }
}
