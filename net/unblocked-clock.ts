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
        if (this.#watches === 1) {
          this.#tick()
          clearInterval(this.#timer)
        }
        this.#watches--
      },
    }
  }

  /** For how long the event loop was blocked while it was watched, in milliseconds. */
  stalledMs(): number {
    return this.#stalledMs + (this.#watches > 0 ? this.#pendingMs() : 0)
  }

  now(): number {
    return performance.now() - this.stalledMs()
  }

  /** How late the next tick is. Readings do not tick: a loop that is busy reads the clock often. */
  #pendingMs(): number {
    const lateMs = performance.now() - this.#tickedAtMs - TICK_MS
    return lateMs > STALL_MS ? lateMs : 0
  }

  readonly #tick = () => {
    this.#stalledMs += this.#pendingMs()
    this.#tickedAtMs = performance.now()
  }
}
