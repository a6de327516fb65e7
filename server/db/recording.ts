import { setTimeout as sleep } from 'node:timers/promises'

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

export interface Recording {
  begin(kind: Kind): RecordedStep
  /** A probe has just stored a marker and a record (server/ledger/probe-writes.ts). */
  proved(): void
  /** For how long nothing could be recorded, in milliseconds. 0 while sends may be mailed. */
  waitingMs(): number
  /** Resolves when a marker may be tried: at once, or as the one of a second. Throws when `signal` is aborted. */
  untilTried(signal?: AbortSignal): Promise<void>
  /** Resolves when dots may be sent. Throws when `signal` is aborted. */
  untilStored(signal?: AbortSignal): Promise<void>
  /** Counts the end of a send as not stored until it settles. */
  track(ending: Promise<unknown>): void
  /** Resolves when every end is stored, or after this time. */
  idle(ms: number): Promise<void>
}

const TICK_MS = 250

/** A clock that stops while the event loop is blocked: results that came meanwhile are not read yet. */
function createOwnClock(): () => number {
  let [ownMs, tickedMs] = [0, performance.now()]
  const now = () => ownMs + Math.min(performance.now() - tickedMs, 2 * TICK_MS)
  setInterval(() => {
    ownMs = now()
    tickedMs = performance.now()
  }, TICK_MS).unref()
  return now
}

export function createRecording(): Recording {
  const now = createOwnClock()
  /** When the first step began that nothing has proved since. */
  const since: Record<Kind, number | undefined> = { marker: undefined, record: undefined }
  const running: Record<Kind, number> = { marker: 0, record: 0 }
  const unstored = new Set<Promise<unknown>>()
  const waiting = new Set<{ isTry: boolean; go(): void }>()
  let timer: NodeJS.Timeout | undefined

  function waitingMs(): number {
    const firstMs = Math.min(since.marker ?? Number.POSITIVE_INFINITY, since.record ?? Number.POSITIVE_INFINITY)
    const ms = now() - firstMs
    return ms >= PATIENCE_MS ? ms : 0
  }

  function begin(kind: Kind): RecordedStep {
    since[kind] ??= now()
    running[kind]++
    let hasEnded = false
    const end = (nextSince: () => number | undefined) => () => {
      if (!hasEnded) running[kind]--
      hasEnded = true
      since[kind] = nextSince()
      wake()
    }
    return {
      stored: end(() => undefined),
      // The others that run have waited for no longer than this, as far as anyone knows.
      refused: end(() => (running[kind] > 0 ? now() : undefined)),
      failed: end(() => since[kind]),
    }
  }

  /** Lets all go, or each second one that tries. */
  function wake(isTurn = false): void {
    for (const each of waiting) {
      if (waitingMs() > 0 && !(isTurn && each.isTry)) continue
      isTurn &&= waitingMs() === 0
      waiting.delete(each)
      each.go()
    }
    if (waiting.size === 0) timer = void clearInterval(timer)
  }

  async function wait(isTry: boolean, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) throw signal.reason
    if (waitingMs() === 0) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const entry = { isTry, go: resolve }
    const leave = () => {
      waiting.delete(entry)
      reject(signal?.reason)
    }
    waiting.add(entry)
    signal?.addEventListener('abort', leave)
    timer ??= setInterval(() => wake(true), TRY_EVERY_MS).unref()
    await promise.finally(() => signal?.removeEventListener('abort', leave))
  }

  return {
    begin,
    proved() {
      since.marker = since.record = undefined
      wake()
    },
    waitingMs,
    untilTried: (signal) => wait(true, signal),
    untilStored: (signal) => wait(false, signal),
    track(ending) {
      unstored.add(ending)
      const remove = () => void unstored.delete(ending)
      ending.then(remove, remove)
    },
    async idle(ms) {
      await Promise.race([Promise.allSettled(unstored), sleep(ms, undefined, { ref: false })])
    },
  }
}
