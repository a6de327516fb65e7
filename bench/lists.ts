import { createKey } from '../server/access/api-keys.ts'
import { createDatabaseClock } from '../server/db/clock.ts'
import { connect } from '../server/db/connect.ts'
import { domains as sendingDomains } from '../server/db/schema.ts'
import { createAccount } from '../server/directory/accounts.ts'
import { measure, untilCalm } from './load/cpu.ts'
import { fillHistory, fillOnce } from './load/history.ts'
import { type Owners, STORED } from './load/history-rows.ts'
import { type Product, startProduct } from './load/product.ts'
import { callInTurn, readJson } from './load/reads.ts'
import { startSink } from './load/sink.ts'
import { atMost, percentile, type Report, type RunOptions } from './report.ts'

const MESSAGES = 10_000_000
const EVENTS = 3_000_000
const CALLS = 30
const WARM_UP_CALLS = 5
const PAGE = 50
const FAR_PAGE = 100
const MOST_MS = 50
/** A second, and the part of history that is being read then. */
const MOST_OF_SEARCHES_MS = 1_500
/** How long each list waits for other work on the machine to end. */
const CALM_WITHIN_MS = 2_000

const { domains, tags, newsletter, tenants, recipients } = STORED
const NOW = Date.now()
const day = (daysAgo: number) => new Date(NOW - daysAgo * 86_400_000).toISOString().slice(0, 10)

/** The filters, the more of them the further down. An unknown value is looked for in all of history. */
const EMAILS: string[] = [
  '',
  'status=delivered',
  'status=bounced',
  'status=rejected',
  'reason=mailbox_full',
  'reason=domain_not_verified',
  'reason=spam_blocked',
  `domain=${domains.common}`,
  `domain=${domains.some}`,
  `domain=${domains.rare}`,
  'domain=unknown.example',
  `tag=${tags.some}`,
  `tag=${tags.rare}`,
  'tag=unknown',
  `tenant_id=${tenants.some}`,
  `tenant_id=${tenants.rare}`,
  'tenant_id=unknown',
  'sandbox=true',
  'sandbox=false',
  `recipient=${recipients.common}`,
  `recipient=${recipients.some}`,
  `recipient=${recipients.rare}`,
  'recipient=unknown@to.example',
  'recipient_domain=to.example',
  'recipient_domain=unknown.example',
  'recipient_domain=to.example&status=bounced',
  'bounced_by=to.example',
  'subject=order',
  'subject=shipped 123456',
  'subject=unknown',
  'subject=発送',
  'subject=注文 123454',
  'subject=注発',
  'metadata.order=123456',
  'metadata.customer=customer-8',
  'metadata.order=unknown',
  'subject=order&status=bounced',
  'subject=123456&recipient_domain=to.example',
  `from=${day(16)}&to=${day(15)}`,
  `to=${day(28)}`,
  `status=bounced&domain=${domains.common}`,
  `status=rejected&domain=${domains.some}`,
  `status=bounced&tag=${tags.some}`,
  `status=bounced&tenant_id=${tenants.some}`,
  'status=bounced&sandbox=false',
  `reason=mailbox_full&sandbox=true`,
  `reason=mailbox_full&domain=${domains.some}`,
  `tag=${tags.some}&tenant_id=${tenants.some}`,
  `tag=${tags.some}&domain=${domains.common}`,
  `domain=${domains.some}&sandbox=true`,
  `tag=${newsletter}&status=bounced`,
  `tenant_id=${tenants.rare}&domain=${domains.common}`,
  `recipient=${recipients.common}&status=bounced`,
  `recipient=${recipients.common}&tag=${tags.some}`,
  `recipient=${recipients.some}&tag=${tags.some}`,
  `status=bounced&from=${day(16)}&to=${day(15)}`,
  `tag=${tags.rare}&from=${day(20)}`,
]

/** These stop after a second, and the next page goes on. */
const SEARCHES: string[] = [
  '/emails?recipient=user7',
  '/emails?recipient=rare',
  '/emails?recipient=unknown',
  '/emails?recipient=@to.example',
  '/emails?feedback=late_bounce',
  `/emails?sender=hello@${domains.common}`,
  `/emails?sender=hello@${domains.rare}`,
  `/emails?sender=unknown@${domains.common}`,
  '/events?recipient=rare',
  '/events?recipient=@unknown.example',
]

const EVENT_LISTS: string[] = [
  '',
  'status=bounced',
  'status=rejected',
  'reason=domain_not_verified',
  `tag=${tags.some}`,
  `tag=${tags.rare}`,
  'tag=unknown',
  'event=email.delivery',
  'event=email.feedback',
  `event=email.feedback&tag=${tags.some}`,
  `recipient=${recipients.common}`,
  `recipient=${recipients.rare}`,
  `tenant_id=${tenants.rare}`,
  `status=bounced&tag=${tags.some}`,
  'sandbox=true',
]

type Server = Pick<Product, 'port' | 'key' | 'apiPid' | 'postgresPid'>

/** Two more accounts, one with few emails and one without any, as their keys. */
export interface Readers {
  quiet: string
  empty: string
}

/**
 * Lists of emails and events over a month of history: whole calls over HTTP, one after another, of the first and the
 * hundredth page. `size` is the number of messages; `keep` keeps the filled database.
 */
export async function run({ size = MESSAGES, keep }: RunOptions): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink, { keep })
  return await measureLists(product, await fillOnce(product, size, () => fill(product, size)))
}

/** Measures the lists of a product whose history is filled. */
export async function measureLists(product: Server, accounts: Readers): Promise<Report> {
  const figures: Report['figures'] = {}
  const measureList = async (name: string, key: string, path: string) => {
    for (const [page, cursor] of [
      [1, ''],
      [FAR_PAGE, await cursorTo(product, key, path)],
    ] as const) {
      if (cursor === undefined) continue
      const url = `${path}${cursor}&limit=${PAGE}`
      await callInTurn({ ...product, key }, Array(WARM_UP_CALLS).fill(url))
      await untilCalm(CALM_WITHIN_MS)
      const trees = [[product.apiPid, product.postgresPid]]
      const { result: timesMs, cpu } = await measure(trees, () =>
        callInTurn({ ...product, key }, Array(CALLS).fill(url)),
      )
      figures[`${name}, page ${page}, p50 ms`] = percentile(timesMs, 0.5)
      figures[`${name}, page ${page}, p95 ms`] = percentile(timesMs, 0.95)
      figures[`${name}, page ${page}, CPU ms`] = (cpu[0]! * 1_000) / CALLS
    }
  }
  for (const filters of EMAILS) await measureList(`emails ${filters}`, product.key, `/emails?${filters}`)
  for (const filters of ['', 'status=bounced', 'tag=unknown', `recipient=${recipients.rare}`, 'sandbox=true']) {
    await measureList(`emails of a quiet account ${filters}`, accounts.quiet, `/emails?${filters}`)
    await measureList(`emails of an empty account ${filters}`, accounts.empty, `/emails?${filters}`)
  }
  for (const filters of EVENT_LISTS) await measureList(`events ${filters}`, product.key, `/events?${filters}`)
  for (const path of SEARCHES) await measureList(`search ${path}`, product.key, path)
  const medians = Object.entries(figures).filter(([figure]) => figure.endsWith('p50 ms'))
  const mostOf = (figure: string) => (figure.startsWith('search ') ? MOST_OF_SEARCHES_MS : MOST_MS)
  return { figures, bars: medians.map(([figure, value]) => atMost(figure, value, mostOf(figure))) }
}

/** Fills the history. */
export async function fill({ databaseUrl }: Pick<Product, 'databaseUrl'>, size: number): Promise<Readers> {
  const { owners, readers } = await createReaders(databaseUrl)
  await fillHistory(databaseUrl, { ...owners, messages: size, tables: ['messages', 'recipients'] })
  await fillHistory(databaseUrl, { ...owners, messages: Math.min(EVENTS, size), tables: ['events'] })
  return readers
}

/** Creates the accounts beside the product's own, which is the big one. */
export async function createReaders(databaseUrl: string): Promise<{ owners: Owners; readers: Readers }> {
  const db = connect(databaseUrl, { connections: 1 })
  const clock = await createDatabaseClock(db)
  const account = async (name: string) => {
    const { id } = await createAccount(db, clock, name)
    const scopes = ['emails.read', 'events.read']
    const { key } = await createKey(db, clock, { accountId: id, name, kind: 'live', scopes })
    return { id, key }
  }
  const [big] = await db.select({ id: sendingDomains.accountId }).from(sendingDomains).limit(1)
  const [quiet, empty] = [await account('Quiet'), await account('Empty')]
  clock.stop()
  await db.$client.end()
  return { owners: { big: big!.id, quiet: quiet.id }, readers: { quiet: quiet.key, empty: empty.key } }
}

interface Page {
  next_cursor?: string
}

/** The cursor to the hundredth page, as a parameter; undefined when the list is shorter. */
async function cursorTo(product: Server, key: string, path: string): Promise<string | undefined> {
  let cursor = ''
  for (let rows = (FAR_PAGE - 1) * PAGE; rows > 0; ) {
    const limit = Math.min(100, rows)
    const { next_cursor } = await readJson<Page>(product.port, key, `${path}${cursor}&limit=${limit}`)
    if (next_cursor === undefined) return undefined
    cursor = `&cursor=${next_cursor}`
    rows -= limit
  }
  return cursor
}
