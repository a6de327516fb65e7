import { randomUUID } from 'node:crypto'
import type { OpenSitePlaces } from '../../mail/smtp/site-places.ts'
import { runEvery } from '../async/run-every.ts'
import { inTime } from '../async/timeout.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { BookStore, keyOfBook, type SiteAsk } from './book-store.ts'
import { HeldPlaces } from './held-places.ts'

// The places of sites over all processes that send from an address. Each process takes places ahead and holds them for
// seven seconds at a time, so a send mostly finds one and costs no statement. While PostgreSQL is away nothing is
// renewed: places end by their time, and then no connection is opened.

/** How soon a process looks for sites at which others wait for its places. */
const LOOK_EVERY_MS = 1_000
/** How soon an exchange that failed is tried again. */
const AGAIN_MS = 1_000
const EXCHANGE_MS = 5_000

interface SharedPlacesParts {
  db: Database
  clock: DatabaseClock
  onError(error: unknown): void
}

export class SharedPlaces {
  readonly #parts: SharedPlacesParts
  readonly #store: BookStore
  readonly #process = randomUUID()
  readonly #sites = new Map<string, HeldPlaces>()
  readonly #looking: ReturnType<typeof runEvery>
  #timer: NodeJS.Timeout | undefined
  #timerAtMs = Infinity
  #isExchanging = false
  /** A site with a demand of TLS has its own connections, and so is its own holder. */
  #opened = 0

  constructor(parts: SharedPlacesParts) {
    this.#parts = parts
    this.#store = new BookStore(parts.db)
    this.#looking = runEvery(LOOK_EVERY_MS, () => this.#look(), parts.onError)
  }

  readonly open: OpenSitePlaces = (site, onChange) => {
    const held = this.#sites.get(site.key) ?? new HeldPlaces(site, ++this.#opened, (atMs) => this.#exchangeBy(atMs))
    this.#sites.set(site.key, held)
    return held.use(site.limits, onChange)
  }

  /** Gives all places back. */
  async close(): Promise<void> {
    this.#looking.stop()
    clearTimeout(this.#timer)
    this.#timerAtMs = -Infinity
    for (const held of this.#sites.values()) held.close()
    await this.#exchange(new Map(this.#holding().map((held) => [keyOfPlaces(held), held])))
  }

  /** Exchanges at this time at the latest. */
  #exchangeBy(atMs: number): void {
    if (this.#isExchanging || atMs >= this.#timerAtMs) return
    clearTimeout(this.#timer)
    this.#timerAtMs = atMs
    this.#timer = setTimeout(() => void this.#exchangeDue(), Math.max(0, atMs - performance.now())).unref()
  }

  async #exchangeDue(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timerAtMs = Infinity
    const nowMs = performance.now()
    for (const held of this.#sites.values()) if (held.isOver()) this.#sites.delete(held.site.key)
    const rows = new Map<string, HeldPlaces>()
    // The same site with and without a demand of TLS is one row, and one of them waits for the next round.
    for (const held of this.#sites.values()) if (held.dueMs <= nowMs) rows.set(keyOfPlaces(held), held)
    await this.#exchange(rows)
    let nextMs = Infinity
    for (const held of this.#sites.values()) nextMs = Math.min(nextMs, held.dueMs)
    this.#exchangeBy(nextMs)
  }

  async #exchange(rows: ReadonlyMap<string, HeldPlaces>): Promise<void> {
    if (rows.size === 0) return
    this.#isExchanging = true
    const askedAtMs = performance.now()
    try {
      const nowMs = this.#parts.clock.now()
      const asks = [...rows.values()].map((held) => this.#askOf(held, nowMs))
      const grants = await inTime(this.#store.exchangeAll(asks), EXCHANGE_MS)
      for (const [key, held] of rows) {
        const grant = grants.get(key)
        if (grant) held.granted(grant, { askedAtMs, offsetMs: askedAtMs - nowMs })
        else held.failed(performance.now() + AGAIN_MS)
      }
    } catch (error) {
      for (const held of rows.values()) held.failed(performance.now() + AGAIN_MS)
      this.#parts.onError(error)
    } finally {
      this.#isExchanging = false
    }
  }

  #askOf(held: HeldPlaces, nowMs: number): SiteAsk {
    const offsetMs = nowMs - performance.now()
    const { address, name } = held.site
    return { address, site: name, ask: { process: `${this.#process} ${held.number}`, nowMs, ...held.ask(offsetMs) } }
  }

  /** Others may wait for places that this process holds and does not need. */
  async #look(): Promise<void> {
    const nowMs = performance.now()
    for (const held of this.#sites.values()) held.notice()
    const holding = this.#holding()
    if (holding.length === 0) return
    const contended = await this.#store.contended([...new Set(holding.map(({ site }) => site.address))])
    for (const held of holding) if (contended.has(keyOfPlaces(held))) held.hurry(nowMs)
  }

  #holding(): HeldPlaces[] {
    return [...this.#sites.values()].filter((held) => held.count() > 0)
  }
}

const keyOfPlaces = ({ site: { address, name } }: HeldPlaces) => keyOfBook({ address, site: name })
