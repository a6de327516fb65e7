import { createBoundedMap } from '../../net/bounded-map.ts'
import type { EngineLimits } from './engine-limits.ts'

type SlowSiteLimits = Pick<EngineLimits, 'dotMs' | 'slowRcptMs' | 'slowDotMs' | 'slowSiteMs'>

const MAX_SITES = 10_000

/**
 * Sites that take their time over each recipient, after RCPT or after the dot. Their transactions have as many
 * recipients as fit into the time of the dot.
 */
export function createSlowSites({ dotMs, slowRcptMs, slowDotMs, slowSiteMs }: SlowSiteLimits) {
  const [byRcpt, byDot] = [createMemory(slowSiteMs), createMemory(slowSiteMs)]
  const fitting = (msOfOne: number) => Math.max(1, Math.floor(dotMs / msOfOne))

  return {
    /** The most recipients of a transaction. */
    atATime: (key: string) => Math.min(byRcpt.get(key), byDot.get(key)),
    /** The site took its time after RCPT when it was asked last. */
    isSlowAtRcpt: (key: string) => byRcpt.get(key) < Infinity,
    /** The reply to a RCPT took this long, or did not come in this time. */
    noteRcpt: (key: string, ms: number) => byRcpt.set(key, ms < slowRcptMs ? Infinity : fitting(ms)),
    /** The reply to the dot of a transaction with these recipients took this long, or did not come in this time. */
    noteDot(key: string, recipients: number, ms: number): void {
      if (ms >= slowDotMs) byDot.set(key, fitting(ms / recipients))
      else if (recipients >= byDot.get(key)) byDot.set(key, Infinity)
    },
  }
}

function createMemory(keepMs: number) {
  const entries = createBoundedMap<{ atATime: number; untilMs: number }>({ maxEntries: MAX_SITES })

  return {
    get(key: string): number {
      const entry = entries.get(key)
      return entry && performance.now() < entry.untilMs ? entry.atATime : Infinity
    },
    set(key: string, atATime: number): void {
      if (atATime < Infinity) entries.set(key, { atATime, untilMs: performance.now() + keepMs })
      else if (entries.has(key)) entries.delete(key)
    },
  }
}
