import { createBoundedMap } from '../../net/bounded-map.ts'
import type { Database } from '../db/connect.ts'
import type { SiteBook } from '../db/json-columns.ts'
import { run } from '../db/statement.ts'
import { type Ask, EMPTY_BOOK, exchangeBook, type Grant } from './site-book.ts'

/** What a process asks of one site from one address. */
export interface SiteAsk {
  address: string
  site: string
  ask: Ask
}

interface StoredBook {
  version: number
  book: SiteBook
}

type Row = { address: string; site: string }

/** Stores the books whose version is the expected one, and returns those that it stored. */
export const STORE_BOOKS = `
  insert into site_books as b (address, site, version, book, is_contended, changed_at)
  select address, site, version, book, is_contended, now()
  from json_to_recordset($1::json) as r (address text, site text, version int, book json, is_contended bool)
  on conflict (address, site) do update
    set version = excluded.version, book = excluded.book, is_contended = excluded.is_contended, changed_at = now()
    where b.version = excluded.version - 1
  returning address, site`

export const READ_BOOKS = `
  select address, site, version, book
  from site_books
  where (address, site) in (select address, site from json_to_recordset($1::json) as r (address text, site text))`

export const CONTENDED_BOOKS = `
  select address, site from site_books where is_contended and address = any($1::text[])`

/** The most tries of one exchange: each fails only when another process has changed the book meanwhile. */
const MAX_TRIES = 20
const MAX_KNOWN = 10_000

export const keyOfBook = ({ address, site }: Row) => `${address} ${site}`

/**
 * Exchanges with the books of many sites at once, at most once a site. A book that no other process has changed since
 * the last exchange costs one statement, without a read before it.
 */
export class BookStore {
  readonly #db: Database
  readonly #known = createBoundedMap<StoredBook>({ maxEntries: MAX_KNOWN })

  constructor(db: Database) {
    this.#db = db
  }

  async exchangeAll(asks: readonly SiteAsk[]): Promise<Map<string, Grant>> {
    const grants = new Map<string, Grant>()
    // In one order in all processes, so that no two wait for each other's rows.
    let pending = asks.toSorted((a, b) => (keyOfBook(a) < keyOfBook(b) ? -1 : 1))
    for (let tries = 0; pending.length > 0 && tries < MAX_TRIES; tries++) {
      if (tries > 0) await this.#read(pending)
      const stored = await this.#store(pending, grants)
      pending = pending.filter((ask) => !stored.has(keyOfBook(ask)))
    }
    for (const lost of pending) grants.delete(keyOfBook(lost))
    return grants
  }

  /** The sites of these addresses at which a process waits for the places of another. */
  async contended(addresses: readonly string[]): Promise<Set<string>> {
    const list = `{${addresses.map((address) => JSON.stringify(address)).join(',')}}`
    return new Set((await run<Row>(this.#db, CONTENDED_BOOKS, [list])).map(keyOfBook))
  }

  async #store(asks: readonly SiteAsk[], grants: Map<string, Grant>): Promise<Set<string>> {
    const after = new Map<string, StoredBook>()
    const rows = asks.map(({ address, site, ask }) => {
      const key = keyOfBook({ address, site })
      const before = this.#known.get(key) ?? { version: 0, book: EMPTY_BOOK }
      const { book, grant } = exchangeBook(before.book, ask)
      grants.set(key, grant)
      after.set(key, { version: before.version + 1, book })
      return { address, site, version: before.version + 1, book, is_contended: grant.isContended }
    })
    const stored = new Set((await run<Row>(this.#db, STORE_BOOKS, [JSON.stringify(rows)])).map(keyOfBook))
    for (const [key, book] of after) {
      if (stored.has(key)) this.#known.set(key, book)
      else this.#known.delete(key)
    }
    return stored
  }

  async #read(asks: readonly SiteAsk[]): Promise<void> {
    const keys = asks.map(({ address, site }) => ({ address, site }))
    for (const row of await run<Row & StoredBook>(this.#db, READ_BOOKS, [JSON.stringify(keys)])) {
      this.#known.set(keyOfBook(row), { version: row.version, book: row.book })
    }
  }
}
