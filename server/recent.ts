import { performance } from 'node:perf_hooks'
import { inTime } from './in-time.ts'

/** A database that is silent, and not merely gone, must not hold a call for ever. */
const READ_TIMEOUT_MS = 5_000

/**
 * Reads through a bounded cache. Callers who want the same at the same moment share one read. A value is given out for `keepMs`
 * (`missingMs` when there is none), counted from the moment its read began: a change bites within that time, however long the
 * read took. A read that fails or takes over 5 s is an error for those who waited, and is not kept.
 */
export function recent<Value>(options: {
  read: (key: string) => Promise<Value | undefined>
  keepMs: number
  missingMs: number
  maxEntries: number
}): (key: string) => Promise<Value | undefined> {
  const entries = new Map<string, { value: Promise<Value | undefined>; until: number }>()

  async function read(key: string): Promise<Value | undefined> {
    const readAt = performance.now()
    const value = inTime(options.read(key), READ_TIMEOUT_MS)
    const entry = { value, until: readAt + options.keepMs }
    // Set anew, so that the first entry of the map is the oldest.
    entries.delete(key)
    entries.set(key, entry)
    if (entries.size > options.maxEntries) entries.delete(entries.keys().next().value!)
    try {
      const found = await value
      if (found === undefined) entry.until = readAt + options.missingMs
      return found
    } catch (error) {
      if (entries.get(key) === entry) entries.delete(key)
      throw error
    }
  }

  return (key) => {
    const entry = entries.get(key)
    return entry && performance.now() < entry.until ? entry.value : read(key)
  }
}
