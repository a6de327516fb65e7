import { hash } from 'node:crypto'
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
  /** Whether the visits of the window are used up: this one must be refused, and is not counted. */
  over: boolean
  /** Milliseconds until the window ends. */
  leftMs: number
  /** Takes the visit out of the count. Call it once. */
  forget(): void
}

interface Window {
  used: number
  endsAt: number
}

/**
 * Counts visits by key in windows of fixed length. Each process counts for itself in memory: a flood must not cost the
 * database anything. The monotonic clock makes it independent of jumps of the node's clock. A key may be any text of a
 * caller, so only its hash is kept, and only until its window ends.
 */
export function createWindows({ limit, windowMs, now = () => performance.now() }: WindowOptions) {
  /** The first entry ends first, because all windows have the same length. */
  const windows = new Map<string, Window>()
  let willDrop = false

  function open(key: string): Window {
    const window = { used: 0, endsAt: now() + windowMs }
    windows.set(key, window)
    const [oldest = key] = windows.keys()
    if (windows.size > MAX_WINDOWS) windows.delete(oldest)
    dropLater()
    return window
  }

  function dropEnded(): void {
    for (const [key, { endsAt }] of windows) {
      if (now() < endsAt) return
      windows.delete(key)
    }
  }

  /** Without it, the windows of a flood would stay until the next visit. */
  function dropLater(): void {
    if (willDrop) return
    willDrop = true
    const drop = () => {
      willDrop = false
      dropEnded()
      if (windows.size > 0) dropLater()
    }
    setTimeout(drop, windowMs).unref()
  }

  return (text: string): Visit => {
    dropEnded()
    const key = hash('sha256', text, 'base64')
    const window = windows.get(key) ?? open(key)
    const over = window.used >= limit
    if (!over) window.used++
    const forget = () => {
      if (over || --window.used > 0) return
      if (windows.get(key) === window) windows.delete(key)
    }
    return { limit, remaining: limit - window.used, over, leftMs: window.endsAt - now(), forget }
  }
}

/** What the response says about a visit. The window ends by the database's clock, like the windows of the tiers. */
export function rateOf({ limit, remaining, leftMs }: Visit, clock: DatabaseClock): Rate {
  return { limit, remaining, resetAt: Math.ceil((clock.now() + leftMs) / 1_000) }
}
