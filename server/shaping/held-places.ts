import type { SiteLimits } from '../../mail/smtp/engine-limits.ts'
import type { SiteLoad, SiteOfAddress, SitePlaces, SiteRefusal } from '../../mail/smtp/site-places.ts'
import type { WaitLimit } from '../../net/fair-slots.ts'
import { MessageQueue } from './message-queue.ts'
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

type Refusal = SiteRefusal & { mailed?: number }

/**
 * The places that this process has of a site, and when it exchanges next. The pool says what it needs and what the site
 * has refused; an exchange tells that to the book of the site (`ask`), and brings places and messages (`granted`).
 * Times are those of `performance.now()`.
 */
export class HeldPlaces implements SitePlaces {
  readonly site: SiteOfAddress
  /** Tells apart the holders of one process. */
  readonly number: number
  /** When the next exchange is due. */
  dueMs = Infinity
  readonly #exchangeBy: (atMs: number) => void
  #limits: SiteLimits
  #onChange = () => {}
  #load = NO_LOAD
  /** The most that was wanted since the last exchange. */
  #peak = 0
  /** What the last exchange asked for. */
  #asked = 0
  #places = 0
  #untilMs = 0
  /** The number of places that the pool knows. */
  #shown = 0
  #hasRate = false
  #isUsed = false
  #refusal: Refusal | undefined
  #hasSucceeded = false
  /** What the exchange that runs tells. */
  #told: { refusal?: Refusal; hasSucceeded: boolean } = { hasSucceeded: false }
  #lastAskMs = -Infinity
  readonly #mailed = createMinuteCounter()
  readonly #messages = new MessageQueue(() => {
    const pauseMs = this.#messages.isWaiting() ? MESSAGES_MS : STOCK_MS
    this.hurry(Math.max(performance.now(), this.#lastAskMs + pauseMs))
  })

  constructor(site: SiteOfAddress, number: number, exchangeBy: (atMs: number) => void) {
    this.site = site
    this.number = number
    this.#limits = site.limits
    this.#exchangeBy = exchangeBy
  }

  use(limits: SiteLimits, onChange: () => void): SitePlaces {
    this.#isUsed = true
    this.#onChange = onChange
    this.#limits = limits
    this.#hasRate ||= limits.perMinute !== undefined
    this.#shown = this.count()
    return this
  }

  count(): number {
    return performance.now() < this.#untilMs ? this.#places : 0
  }

  need(next: SiteLoad): void {
    if (next.wanted > this.#peak) this.#peak = next.wanted
    const asked = this.#asked
    const couldHaveMore = asked < this.#limits.connections && next.wanted * 4 > asked * 3
    const takesMore = next.accepted > this.#places && next.accepted > this.#load.accepted
    this.#load = next
    const nowMs = performance.now()
    if (couldHaveMore || takesMore || this.count() < Math.min(next.wanted, asked, this.#places)) this.hurry(nowMs)
    // It has closed what it may no longer have, and others wait for that.
    else if (this.#places < asked && next.open <= this.#places && this.dueMs > nowMs + CONTENDED_MS) this.hurry(nowMs)
  }

  refused(refusal: SiteRefusal): void {
    this.#slow(refusal)
  }

  refusedRate(refusal: SiteRefusal): void {
    // Nothing more goes until the next exchange says how much may.
    this.#hasRate = true
    this.#slow({ ...refusal, mailed: this.#mailed.count() })
  }

  #slow(refusal: Refusal): void {
    this.#refusal = refusal
    this.#places = Math.min(this.#places, Math.max(1, this.#load.accepted))
    this.hurry(performance.now())
    this.notice()
  }

  succeeded(): void {
    this.#hasSucceeded = true
  }

  mayMail(limit: WaitLimit): Promise<boolean> | true {
    this.#mailed.add()
    return !this.#hasRate || this.#messages.take(limit)
  }

  leave(): void {
    this.#isUsed = false
    this.#load = NO_LOAD
  }

  /** Exchanges at this time at the latest. */
  hurry(atMs: number): void {
    if (atMs < this.dueMs) this.dueMs = atMs
    this.#exchangeBy(this.dueMs)
  }

  /** Tells the pool when the number of places is another one. */
  notice(): void {
    const now = this.count()
    if (now === this.#shown) return
    this.#shown = now
    this.#onChange()
  }

  /** Nothing uses it, and it holds nothing. */
  isOver(): boolean {
    return !this.#isUsed && this.count() === 0
  }

  /** @param offsetMs the database's time less that of this process */
  ask(offsetMs: number): Omit<Ask, 'process' | 'nowMs'> {
    this.#asked = this.#peak === 0 ? 0 : Math.min(this.#limits.connections, Math.max(LEAST, this.#peak * 2))
    this.#peak = this.#load.wanted
    this.#lastAskMs = performance.now()
    const refusal = this.#refusal
    this.#told = { refusal, hasSucceeded: this.#hasSucceeded }
    return {
      limits: this.#limits,
      open: this.#load.open,
      accepted: this.#load.accepted,
      wanted: this.#asked,
      messages: this.#messages.needed(),
      succeeded: this.#hasSucceeded,
      ...(refusal && { refusal: { ...refusal, beganAtMs: refusal.beganAtMs + offsetMs } }),
    }
  }

  granted(grant: Grant, { askedAtMs, offsetMs }: { askedAtMs: number; offsetMs: number }): void {
    this.#places = grant.places
    this.#untilMs = askedAtMs + HOLD_MS
    if (this.#refusal === this.#told.refusal) this.#refusal = undefined
    if (this.#told.hasSucceeded) this.#hasSucceeded = false
    // A rate that was refused while the exchange ran holds until the next one.
    if (grant.dueMs || this.#refusal === undefined) this.#hasRate = grant.dueMs !== undefined
    const dueMs = grant.dueMs?.map((atMs) => atMs + offsetMs)
    if (dueMs) this.#messages.add(dueMs, grant.maxStock)
    else if (!this.#hasRate) this.#messages.letAllGo()
    const isHurried = grant.isContended || this.#messages.isWaiting()
    const soonMs = isHurried ? CONTENDED_MS : HOLD_MS / 2
    this.dueMs = this.#isUsed || isHurried ? askedAtMs + soonMs : this.#untilMs
    this.notice()
  }

  failed(againAtMs: number): void {
    this.dueMs = againAtMs
    this.notice()
  }

  close(): void {
    this.#messages.close()
    this.#load = NO_LOAD
    this.#peak = 0
  }
}
