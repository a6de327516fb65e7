/** One timer that is moved instead of made anew: it looks at the time when it fires, and goes on when it fired too early. */
export function createAlarm(ring: () => void) {
  let atMs = Number.POSITIVE_INFINITY
  let firesAtMs = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | undefined

  function set(untilMs: number): void {
    atMs = untilMs
    if (atMs < firesAtMs) start()
  }

  function start(): void {
    clearTimeout(timer)
    firesAtMs = atMs
    timer = setTimeout(fire, Math.max(1, atMs - performance.now()))
  }

  function fire(): void {
    firesAtMs = Number.POSITIVE_INFINITY
    if (atMs === Number.POSITIVE_INFINITY) return
    if (performance.now() < atMs) {
      start()
    } else {
      clear()
      ring()
    }
  }

  function clear(): void {
    atMs = Number.POSITIVE_INFINITY
  }

  function stop(): void {
    clear()
    clearTimeout(timer)
    firesAtMs = Number.POSITIVE_INFINITY
  }

  return { set, clear, stop }
}
