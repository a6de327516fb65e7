import { UnblockedClock } from '../../net/unblocked-clock.ts'

/** Measures how long servers keep us waiting. Each delivery watches it. */
export const unblocked = new UnblockedClock()

/**
 * A timer whose moment can be moved without a new timer: when it fires too early, it starts again for the remaining
 * time. Times are on the clock of `performance.now()`; the alarm never rings before its moment, nor before everything
 * that has come until then was read.
 */
export class Alarm {
  readonly #ring: () => void
  #ringsAtMs = Number.POSITIVE_INFINITY
  #firesAtMs = Number.POSITIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  constructor(ring: () => void) {
    this.#ring = ring
  }

  set(untilMs: number): void {
    this.#ringsAtMs = untilMs
    if (untilMs < this.#firesAtMs) this.#startTimer()
  }

  clear(): void {
    this.#ringsAtMs = Number.POSITIVE_INFINITY
  }

  stop(): void {
    this.clear()
    clearTimeout(this.#timer)
    this.#firesAtMs = Number.POSITIVE_INFINITY
  }

  #startTimer(): void {
    clearTimeout(this.#timer)
    this.#firesAtMs = this.#ringsAtMs
    this.#timer = setTimeout(this.#fire, Math.max(1, this.#ringsAtMs - performance.now()))
  }

  readonly #fire = () => {
    this.#firesAtMs = Number.POSITIVE_INFINITY
    if (this.#ringsAtMs === Number.POSITIVE_INFINITY) return
    if (performance.now() < this.#ringsAtMs) this.#startTimer()
    // An event loop that was blocked runs its timers before it reads: what has come meanwhile is read first.
    else setImmediate(this.#ringIfDue)
  }

  readonly #ringIfDue = () => {
    if (performance.now() < this.#ringsAtMs) return
    this.clear()
    this.#ring()
  }
}
