import { performance } from 'node:perf_hooks'
import { createBoundedMap } from '../../net/bounded-map.ts'

interface CacheOptions<Value> {
  /** Ends by itself: a silent database must not block a call for ever. */
  read: (key: string) => Promise<Value>
  /** How long a value is used. */
  keepMs: number
  /** How long `undefined` is used. */
  missingMs: number
  maxEntries: number
}

/**
 * Reads through a bounded cache: API keys, sender domains and breakers, which each request needs. Concurrent calls with
 * the same key share one read. A value is used for `keepMs` (`missingMs` when it is undefined) from the moment its read
 * began: a change takes effect within that time, however long the read took. A read that fails rejects all calls that
 * wait for it, and is not kept.
 */
export function createReadCache<Value>(options: CacheOptions<Value>): (key: string) => Promise<Value> {
  const { maxEntries } = options
  const entries = createBoundedMap<{ value: Promise<Value>; untilMs: number }>({ maxEntries })

  async function read(key: string): Promise<Value> {
    const startedMs = performance.now()
    const pending = options.read(key)
    const entry = { value: pending, untilMs: startedMs + options.keepMs }
    entries.set(key, entry)
    try {
      const value = await pending
      if (value === undefined) entry.untilMs = startedMs + options.missingMs
      return value
    } catch (error) {
      if (entries.get(key) === entry) entries.delete(key)
      throw error
    }
  }

  return (key) => {
    const entry = entries.get(key)
    return entry && performance.now() < entry.untilMs ? entry.value : read(key)
  }
}
