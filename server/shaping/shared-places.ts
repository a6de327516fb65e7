import { randomUUID } from 'node:crypto'
import type { OpenSitePlaces, SiteOfAddress, SitePlaces } from '../../mail/smtp/site-places.ts'
import { runEvery } from '../async/run-every.ts'
import { inTime } from '../async/timeout.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { createBookStore, type SiteAsk } from './book-store.ts'
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

export interface SharedPlaces {
  open: OpenSitePlaces
  /** Gives all places back. */
  close(): Promise<void>
}

export function createSharedPlaces({ db, clock, onError }: SharedPlacesParts): SharedPlaces {
  const store = createBookStore(db)
  const process = randomUUID()
  const sites = new Map<string, HeldPlaces>()
  let timer: NodeJS.Timeout | undefined
  let timerAtMs = Infinity
  let isExchanging = false
  /** A site with a demand of TLS has connections of its own, and so is a holder of its own. */
  let opened = 0

  function open(site: SiteOfAddress, onChange: () => void): SitePlaces {
    const held = sites.get(site.key) ?? new HeldPlaces(site, ++opened, exchangeBy)
    sites.set(site.key, held)
    return held.use(site.limits, onChange)
  }

  /** Exchanges at this time at the latest. */
  function exchangeBy(atMs: number): void {
    if (isExchanging || atMs >= timerAtMs) return
    clearTimeout(timer)
    timerAtMs = atMs
    timer = setTimeout(() => void exchangeDue(), Math.max(0, atMs - performance.now())).unref()
  }

  async function exchangeDue(): Promise<void> {
    clearTimeout(timer)
    timerAtMs = Infinity
    const nowMs = performance.now()
    for (const held of sites.values()) if (held.isOver()) sites.delete(held.site.key)
    const rows = new Map<string, HeldPlaces>()
    // The same site with and without a demand of TLS is one row, and one of them waits for the next round.
    for (const held of sites.values()) if (held.dueMs <= nowMs) rows.set(store.keyOf(rowOf(held)), held)
    if (rows.size > 0) await exchange(rows).catch(onError)
    let nextMs = Infinity
    for (const held of sites.values()) nextMs = Math.min(nextMs, held.dueMs)
    exchangeBy(nextMs)
  }

  async function exchange(rows: ReadonlyMap<string, HeldPlaces>): Promise<void> {
    isExchanging = true
    const askedAtMs = performance.now()
    try {
      const nowMs = clock.now()
      const asks = [...rows.values()].map((held) => askOf(held, nowMs))
      const grants = await inTime(store.exchangeAll(asks), EXCHANGE_MS)
      for (const [key, held] of rows) {
        const grant = grants.get(key)
        if (grant) held.granted(grant, { askedAtMs, offsetMs: askedAtMs - nowMs })
        else held.failed(performance.now() + AGAIN_MS)
      }
    } catch (error) {
      for (const held of rows.values()) held.failed(performance.now() + AGAIN_MS)
      throw error
    } finally {
      isExchanging = false
    }
  }

  function askOf(held: HeldPlaces, nowMs: number): SiteAsk {
    const offsetMs = nowMs - performance.now()
    const { address, name } = held.site
    return { address, site: name, ask: { process: `${process} ${held.number}`, nowMs, ...held.ask(offsetMs) } }
  }

  /** Others may wait for places that this process holds and does not need. */
  async function look(): Promise<void> {
    const nowMs = performance.now()
    for (const held of sites.values()) held.notice()
    const holding = [...sites.values()].filter((held) => held.count() > 0)
    if (holding.length === 0) return
    const contended = await store.contended([...new Set(holding.map(({ site }) => site.address))])
    for (const held of holding) if (contended.has(store.keyOf(rowOf(held)))) held.hurry(nowMs)
  }

  const looking = runEvery(LOOK_EVERY_MS, look, onError)

  return {
    open,
    async close() {
      looking.stop()
      clearTimeout(timer)
      timerAtMs = -Infinity
      for (const held of sites.values()) held.close()
      const holding = [...sites.values()].filter((held) => held.count() > 0)
      const rows = new Map(holding.map((held) => [store.keyOf(rowOf(held)), held]))
      if (rows.size > 0) await exchange(rows).catch(onError)
    },
  }
}

const rowOf = ({ site: { address, name } }: HeldPlaces) => ({ address, site: name })
