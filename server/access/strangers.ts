import { performance } from 'node:perf_hooks'
import { networkOf } from '../egress/network.ts'

const PER_MINUTE = 600
const WINDOW_MS = 60_000
/** Of addresses, in memory: a flood from more of them forgets the oldest windows. */
const MAX_WINDOWS = 50_000

export interface Stranger {
  limit: number
  /** Requests that are left after this one. */
  remaining: number
  /** The requests of the window are used up: this one is not to be looked at. */
  over: boolean
  /** Milliseconds until the window ends. */
  leftMs: number
  /** The request had a valid key after all. */
  forget(): void
}

/**
 * Counts requests without a valid key by their address, on this process alone and in its memory: a flood of made-up keys must cost
 * the database nothing. By the monotonic clock, so that a jump of the node's clock changes nothing.
 */
export function createStrangers(now: () => number = () => performance.now()): (remoteAddress: string) => Stranger {
  const windows = new Map<string, { used: number; endsAt: number }>()

  function windowOf(network: string) {
    const known = windows.get(network)
    if (known && now() < known.endsAt) return known
    const window = { used: 0, endsAt: now() + WINDOW_MS }
    // Set anew, so that the first of the map is the oldest.
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
