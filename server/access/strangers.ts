import { performance } from 'node:perf_hooks'
import { networkOf } from '../egress/network.ts'

const PER_MINUTE = 600
const WINDOW_MS = 60_000
/** The most addresses kept in memory. A flood from more addresses drops the oldest windows. */
const MAX_WINDOWS = 50_000

export interface Stranger {
  limit: number
  /** Requests that are left after this one. */
  remaining: number
  /** Whether the requests of the window are used up: this one must be refused unread. */
  over: boolean
  /** Milliseconds until the window ends. */
  leftMs: number
  /** Takes the request out of the count: it had a valid key after all. */
  forget(): void
}

/**
 * Counts requests without a valid key by their address. Each process counts for itself in memory: a flood of invented
 * keys must not cost the database anything. The monotonic clock makes it independent of jumps of the node's clock.
 */
export function createStrangers(now: () => number = () => performance.now()): (remoteAddress: string) => Stranger {
  const windows = new Map<string, { used: number; endsAt: number }>()

  function windowOf(network: string) {
    const current = windows.get(network)
    if (current && now() < current.endsAt) return current
    const window = { used: 0, endsAt: now() + WINDOW_MS }
    // Deleted and set anew, so that the first entry of the map is the oldest.
    windows.delete(network)
    windows.set(network, window)
    if (windows.size > MAX_WINDOWS) windows.delete(windows.keys().next().value!)
    return window
  }

  return (remoteAddress) => {
    const window = windowOf(networkOf(remoteAddress))
    const over = window.used >= PER_MINUTE
    if (!over) window.used++
    const remaining = PER_MINUTE - window.used
    return { limit: PER_MINUTE, remaining, over, leftMs: window.endsAt - now(), forget: () => void window.used-- }
  }
}
