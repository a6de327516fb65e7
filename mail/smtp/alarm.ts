/**
 * A timer whose moment can be moved without a new timer: when it fires too early, it starts again for the remaining
 * time. Times are on the clock of `performance.now()`; the alarm never rings before its moment, nor before everything
 * that has come until then was read.
 */
export function createAlarm(ring: () => void) {
  let ringsAtMs = Number.POSITIVE_INFINITY
  let firesAtMs = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | undefined

  function set(untilMs: number): void {
    ringsAtMs = untilMs
    if (ringsAtMs < firesAtMs) startTimer()
  }

  function startTimer(): void {
    clearTimeout(timer)
    firesAtMs = ringsAtMs
    timer = setTimeout(fire, Math.max(1, ringsAtMs - performance.now()))
  }

  function fire(): void {
    firesAtMs = Number.POSITIVE_INFINITY
    if (ringsAtMs === Number.POSITIVE_INFINITY) return
    if (performance.now() < ringsAtMs) {
      startTimer()
    } else {
      // An event loop that was blocked runs its timers before it reads: what has come meanwhile is read first.
      setImmediate(ringIfDue)
    }
  }

  function ringIfDue(): void {
    if (performance.now() < ringsAtMs) return
    clear()
    ring()
  }

  function clear(): void {
    ringsAtMs = Number.POSITIVE_INFINITY
  }

  function stop(): void {
    clear()
    clearTimeout(timer)
    firesAtMs = Number.POSITIVE_INFINITY
  }

  return { set, clear, stop }
}
