// The event loop is blocked while this process computes, is stopped, or gets no processor.

const TICK_MS = 50
/** A shorter delay is the usual business of the event loop. */
const STALL_MS = 100

let lastTickMs = performance.now()
let stalledTotalMs = 0

function tick(): void {
  const lateMs = performance.now() - lastTickMs - TICK_MS
  if (lateMs > STALL_MS) stalledTotalMs += lateMs
  lastTickMs += lateMs + TICK_MS
}

setInterval(tick, TICK_MS).unref()

/** For how long the event loop was blocked since the process began, in milliseconds. */
export function stalledMs(): number {
  tick()
  return stalledTotalMs
}

/** Starts a watch. It returns the milliseconds since then in which the event loop was not blocked. */
export function watchUnblocked(): () => number {
  const startedAtMs = performance.now()
  const stalledAtMs = stalledMs()
  return () => performance.now() - startedAtMs - (stalledMs() - stalledAtMs)
}
