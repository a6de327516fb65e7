const MINUTE_MS = 60_000

/** Counts what happened in the last minute: exactly in this one, and as if evenly in the one before. */
export function createMinuteCounter(now = () => performance.now()) {
  let [began, before, current] = [now(), 0, 0]

  function turn(): void {
    const minutes = Math.floor((now() - began) / MINUTE_MS)
    if (minutes === 0) return
    began += minutes * MINUTE_MS
    ;[before, current] = [minutes === 1 ? current : 0, 0]
  }

  return {
    add(): void {
      turn()
      current++
    },
    count(): number {
      turn()
      return Math.round(current + before * (1 - (now() - began) / MINUTE_MS))
    },
  }
}
