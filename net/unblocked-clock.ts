const TICK_MS = 50
/** A shorter delay is the usual business of the event loop. */
const STALL_MS = 100

/**
 * A clock that stops while the event loop is blocked: while this process computes, is stopped, or gets no processor.
 * It sees this only while it is watched, because each tick wakes a process that sleeps.
 */
export class UnblockedClock {
  #watches = 0
  #timer: NodeJS.Timeout | undefined
  #tickedAtMs = 0
  #stalledMs = 0

  /** Watches the event loop until disposed of. */
  watch(): Disposable {
    if (this.#watches++ === 0) {
      this.#tickedAtMs = performance.now()
      this.#timer = setInterval(this.#tick, TICK_MS).unref()
    }
    return {
      [Symbol.dispose]: () => {
        if (--this.#watches === 0) clearInterval(this.#timer)
      },
    }
  }

  /** For how long the event loop was blocked while it was watched, in milliseconds. */
  stalledMs(): number {
    if (this.#watches > 0) this.#tick()
    return this.#stalledMs
  }

  now(): number {
    return performance.now() - this.stalledMs()
  }

  readonly #tick = () => {
    const nowMs = performance.now()
    const lateMs = nowMs - this.#tickedAtMs - TICK_MS
    if (lateMs > STALL_MS) this.#stalledMs += lateMs
    this.#tickedAtMs = nowMs
  }
}
