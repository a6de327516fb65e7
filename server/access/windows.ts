import { performance } from 'node:perf_hooks'
import type { Rate } from '../caller.ts'
import type { DatabaseClock } from '../db/clock.ts'

/** The most windows kept in memory. A flood from more keys drops the oldest windows. */
const MAX_WINDOWS = 50_000

export interface WindowOptions {
  limit: number
  windowMs: number
  now?: () => number
}

export interface Visit {
  limit: number
  /** Visits that are left after this one. */
  remaining: number
  /** Whether the visits of the window are used up: this one must be refused. */
  over: boolean
  /** Milliseconds until the window ends. */
  leftMs: number
  /** Takes the visit out of the count. */
  forget(): void
}

/**
 * Counts visits by key in windows of fixed length. Each process counts for itself in memory: a flood must not cost the
 * database anything. The monotonic clock makes it independent of jumps of the node's clock.
 */
export function createWindows({ limit, windowMs, now = () => performance.now() }: WindowOptions) {
  const windows = new Map<string, { used: number; endsAt: number }>()

  function windowOf(key: string) {
    const current = windows.get(key)
    if (current && now() < current.endsAt) return current
    const window = { used: 0, endsAt: now() + windowMs }
    // Deleted and set anew, so that the first entry of the map is the oldest.
    windows.delete(key)
    windows.set(key, window)
    if (windows.size > MAX_WINDOWS) windows.delete(windows.keys().next().value!)
    return window
  }

  return (key: string): Visit => {
    const window = windowOf(key)
    const over = window.used >= limit
    if (!over) window.used++
    const remaining = limit - window.used
    return { limit, remaining, over, leftMs: window.endsAt - now(), forget: () => void window.used-- }
  }
}

/** What the response says about a visit. The window ends by the database's clock, like the windows of the tiers. */
export function rateOf({ limit, remaining, leftMs }: Visit, clock: DatabaseClock): Rate {
  return { limit, remaining, resetAt: Math.ceil((clock.now() + leftMs) / 1_000) }
}
