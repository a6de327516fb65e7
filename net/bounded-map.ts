export interface BoundedMap<Value> {
  has(key: string): boolean
  get(key: string): Value | undefined
  /** Stores a value as the newest. The oldest leave until all fit; one that does not fit alone is not stored. */
  set(key: string, value: Value): void
  delete(key: string): void
  keys(): Iterable<string>
}

export interface Bounds<Value> {
  maxEntries: number
  /** The most characters of all keys and values together. */
  maxCharacters?: number
  /** The characters that a value holds; by default none. */
  charactersOf?(value: Value): number
}

const MAX_CHARACTERS = 8 * 2 ** 20

/**
 * A map for caches, whose memory is bounded whatever texts it gets: a caller, a mail server or a DNS server may choose
 * both how many there are and how long they are.
 */
export function createBoundedMap<Value>(bounds: Bounds<Value>): BoundedMap<Value> {
  const { maxEntries, maxCharacters = MAX_CHARACTERS, charactersOf = () => 0 } = bounds
  /** The oldest entry is the first. */
  const entries = new Map<string, { value: Value; characters: number }>()
  let total = 0

  function remove(key: string): void {
    total -= entries.get(key)?.characters ?? 0
    entries.delete(key)
  }

  return {
    has: (key) => entries.has(key),
    get: (key) => entries.get(key)?.value,
    set(key, value) {
      remove(key)
      const characters = key.length + charactersOf(value)
      if (characters > maxCharacters) return
      for (const oldest of entries.keys()) {
        if (entries.size < maxEntries && total + characters <= maxCharacters) break
        remove(oldest)
      }
      entries.set(key, { value, characters })
      total += characters
    },
    delete: remove,
    keys: () => entries.keys(),
  }
}
