import type { SiteLimits } from '../../mail/smtp/engine-limits.ts'
import type { SiteLoad, SiteOfAddress, SitePlaces, SiteRefusal } from '../../mail/smtp/site-places.ts'
import { createMessageQueue } from './message-queue.ts'
import { createMinuteCounter } from './minute-counter.ts'
import { type Ask, type Grant, HOLD_MS } from './site-book.ts'

/** How soon a process asks again while processes wait for each other's places or messages. */
const CONTENDED_MS = 400
/** How long after an exchange a process asks for messages that sends wait for, and for those that it keeps in stock. */
const MESSAGES_MS = 100
const STOCK_MS = 1_000
/** The least number of places that a process asks for. */
const LEAST = 2

const NO_LOAD: SiteLoad = { open: 0, accepted: 0, wanted: 0 }

/** What this process has of a site, and when it exchanges next. Times are those of `performance.now()`. */
export function createHeldPlaces(site: SiteOfAddress, number: number, exchangeBy: (atMs: number) => void) {
  let limits = site.limits
  let onChange = () => {}
  let load: SiteLoad = NO_LOAD
  /** The most that was wanted since the last exchange. */
  let peak = 0
  /** What the last exchange asked for. */
  let asked = 0
  let places = 0
  let untilMs = 0
  let dueMs = Infinity
  let shown = 0
  let perMinute = false
  let isUsed = false
  let refusal: (SiteRefusal & { mailed?: number }) | undefined
  const mailed = createMinuteCounter()
  let hasSucceeded = false
  /** What the exchange that runs tells. */
  let told = { refusal, hasSucceeded }
  let lastAskMs = -Infinity
  const messages = createMessageQueue(() => {
    const pauseMs = messages.isWaiting() ? MESSAGES_MS : STOCK_MS
    hurry(Math.max(performance.now(), lastAskMs + pauseMs))
  })

  const count = () => (performance.now() < untilMs ? places : 0)

  function hurry(atMs: number): void {
    if (atMs < dueMs) dueMs = atMs
    exchangeBy(dueMs)
  }

  /** Tells the pool when the number of places is another one. */
  function notice(): void {
    const now = count()
    if (now === shown) return
    shown = now
    onChange()
  }

  function slow(one: NonNullable<typeof refusal>): void {
    refusal = one
    places = Math.min(places, Math.max(1, load.accepted))
    hurry(performance.now())
    notice()
  }

  const sitePlaces: SitePlaces = {
    count,
    need(next) {
      if (next.wanted > peak) peak = next.wanted
      const couldHaveMore = asked < limits.connections && next.wanted * 4 > asked * 3
      const takesMore = next.accepted > places && next.accepted > load.accepted
      load = next
      if (couldHaveMore || takesMore || count() < Math.min(next.wanted, asked, places)) hurry(performance.now())
      // It has closed what it may no longer have, and others wait for that.
      else if (places < asked && next.open <= places && dueMs > performance.now() + CONTENDED_MS)
        hurry(performance.now())
    },
    refused: slow,
    refusedRate(one) {
      // Nothing more goes until the next exchange says how much may.
      perMinute = true
      slow({ ...one, mailed: mailed.count() })
    },
    succeeded() {
      hasSucceeded = true
    },
    mayMail(request) {
      mailed.add()
      return perMinute === false || messages.take(request)
    },
    leave() {
      isUsed = false
      load = NO_LOAD
    },
  }

  return {
    site,
    number,
    use(newLimits: SiteLimits, newOnChange: () => void): SitePlaces {
      isUsed = true
      onChange = newOnChange
      limits = newLimits
      perMinute ||= limits.perMinute !== undefined
      shown = count()
      return sitePlaces
    },
    dueMs: () => dueMs,
    hurry,
    notice,
    holds: () => count() > 0,
    /** Nothing uses it, and it holds nothing. */
    isOver: () => !isUsed && count() === 0,

    /** @param offsetMs the database's time less that of this process */
    ask(offsetMs: number): Omit<Ask, 'process' | 'nowMs'> {
      asked = peak === 0 ? 0 : Math.min(limits.connections, Math.max(LEAST, peak * 2))
      peak = load.wanted
      lastAskMs = performance.now()
      told = { refusal, hasSucceeded }
      return {
        limits,
        open: load.open,
        accepted: load.accepted,
        wanted: asked,
        messages: messages.needed(),
        succeeded: hasSucceeded,
        ...(refusal && { refusal: { ...refusal, beganAtMs: refusal.beganAtMs + offsetMs } }),
      }
    },

    granted(grant: Grant, { askedAtMs, offsetMs }: { askedAtMs: number; offsetMs: number }): void {
      places = grant.places
      untilMs = askedAtMs + HOLD_MS
      if (refusal === told.refusal) refusal = undefined
      if (told.hasSucceeded) hasSucceeded = false
      // A rate that was refused while the exchange ran holds until the next one.
      if (grant.dueMs || refusal === undefined) perMinute = grant.dueMs !== undefined
      if (grant.dueMs)
        messages.add(
          grant.dueMs.map((atMs) => atMs + offsetMs),
          grant.maxStock,
        )
      else if (!perMinute) messages.letAllGo()
      const isHurried = grant.isContended || messages.isWaiting()
      dueMs = isUsed || isHurried ? askedAtMs + (isHurried ? CONTENDED_MS : HOLD_MS / 2) : untilMs
      notice()
    },
    failed(againAtMs: number): void {
      dueMs = againAtMs
      notice()
    },
    close(): void {
      messages.close()
      load = NO_LOAD
      peak = 0
    },
  }
}

export type HeldPlaces = ReturnType<typeof createHeldPlaces>
