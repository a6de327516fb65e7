import { setTimeout as sleep } from 'node:timers/promises'
import { UnblockedClock } from '../../net/unblocked-clock.ts'

// What cannot be recorded is not mailed: a process gives no leave for a final dot while its markers or its records are
// not stored. See docs/adr/0191-what-cannot-be-recorded.md.

/** The steps of a send after its claim. */
type Kind = 'marker' | 'record'

/** Nothing is mailed when a step has waited this long to be stored, and no step of its kind was stored meanwhile. */
const PATIENCE_MS = 3_000
/** While markers wait, one of them is tried each second. */
const TRY_EVERY_MS = 1_000

/** A marker or a record of a send, from its first try on. */
export interface RecordedStep {
  stored(): void
  /** PostgreSQL refused the row: this says nothing of others. */
  refused(): void
  /** It is not tried again. */
  failed(): void
}

/** What waits to be recorded, and who waits for that. */
export class Recording {
  /** Results that came while the event loop was blocked are not read yet: that time does not count. */
  readonly #clock = new UnblockedClock()
  #watch: Disposable | undefined
  /** When the first step began that nothing has proved since. */
  readonly #since: Record<Kind, number | undefined> = { marker: undefined, record: undefined }
  readonly #running: Record<Kind, number> = { marker: 0, record: 0 }
  #wereStored: Record<Kind, boolean> = { marker: false, record: false }
  readonly #unstored = new Set<Promise<unknown>>()
  readonly #waiting = new Set<{ isTry: boolean; go(): void }>()
  #timer: NodeJS.Timeout | undefined

  begin(kind: Kind): RecordedStep {
    this.#watch ??= this.#clock.watch()
    this.#since[kind] ??= this.#clock.now()
    this.#running[kind]++
    let hasEnded = false
    const end = (nextSince: () => number | undefined) => () => {
      if (!hasEnded) this.#running[kind]--
      hasEnded = true
      this.#since[kind] = nextSince()
      this.#wake()
    }
    return {
      stored: end(() => {
        this.#wereStored[kind] = true
        return undefined
      }),
      // The others that run have waited for no longer than this, as far as anyone knows.
      refused: end(() => (this.#running[kind] > 0 ? this.#clock.now() : undefined)),
      failed: end(() => this.#since[kind]),
    }
  }

  /** A probe has just stored a marker and a record (server/ledger/probe-writes.ts). */
  proved(): void {
    this.#since.marker = this.#since.record = undefined
    this.#wake()
  }

  /** Whether a marker and a record of sends were stored since this was last asked: then nothing needs a probe. */
  wereStored(): boolean {
    const { marker, record } = this.#wereStored
    this.#wereStored = { marker: false, record: false }
    return marker && record
  }

  /** For how long nothing could be recorded, in milliseconds. 0 while sends may be mailed. */
  waitingMs(): number {
    const { marker = Number.POSITIVE_INFINITY, record = Number.POSITIVE_INFINITY } = this.#since
    const ms = this.#clock.now() - Math.min(marker, record)
    return ms >= PATIENCE_MS ? ms : 0
  }

  /** Resolves when a marker may be tried: at once, or as the one of a second. Throws when `signal` is aborted. */
  untilTried(signal?: AbortSignal): Promise<void> {
    return this.#wait(true, signal)
  }

  /** Resolves when dots may be sent. Throws when `signal` is aborted. */
  untilStored(signal?: AbortSignal): Promise<void> {
    return this.#wait(false, signal)
  }

  /** Counts the end of a send as not stored until it settles. */
  track(ending: Promise<unknown>): void {
    this.#unstored.add(ending)
    const remove = () => void this.#unstored.delete(ending)
    ending.then(remove, remove)
  }

  /** Resolves when every end is stored, or after this time. */
  async idle(ms: number): Promise<void> {
    await Promise.race([Promise.allSettled(this.#unstored), sleep(ms, undefined, { ref: false })])
  }

  async #wait(isTry: boolean, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw signal.reason
    if (this.waitingMs() === 0) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const entry = { isTry, go: resolve }
    const leave = () => {
      this.#waiting.delete(entry)
      reject(signal?.reason)
    }
    this.#waiting.add(entry)
    signal?.addEventListener('abort', leave)
    this.#timer ??= setInterval(() => this.#wake(true), TRY_EVERY_MS).unref()
    await promise.finally(() => signal?.removeEventListener('abort', leave))
  }

  /** Lets all go, or each second one that tries. */
  #wake(isTurn = false): void {
    if (this.#since.marker === undefined && this.#since.record === undefined) {
      this.#watch?.[Symbol.dispose]()
      this.#watch = undefined
    }
    for (const each of this.#waiting) {
      if (this.waitingMs() > 0 && !(isTurn && each.isTry)) continue
      isTurn &&= this.waitingMs() === 0
      this.#waiting.delete(each)
      each.go()
    }
    if (this.#waiting.size === 0) this.#timer = void clearInterval(this.#timer)
  }
}
