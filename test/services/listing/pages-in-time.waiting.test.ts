import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect } from '../../../server/db/connect.ts'
import { readStatements } from '../../harness/postgres-wire.ts'
import { proxiedDatabase } from '../../harness/proxied-database.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { startSendingWorld } from '../../sending/world.ts'
import { startApi } from '../api.ts'

// A page takes about a second, whatever it is filtered by: filters that never meet read all that one of them finds. The
// cursor goes on where the page stopped.

const { database, proxy, url } = await proxiedDatabase()
const read = readStatements()
let statements = 0
/** How long each statement over history takes. */
let slowMs = 0
proxy.onMessage = (message) => {
  const isSlow = read(message).starts.some((sql) => /from "?(messages|recipients|feedback|events)\b/.test(sql))
  if (isSlow) statements++
  return isSlow ? { afterMs: slowMs, act: 'pass' } : 'pass'
}
const db = connect(url.href)
untilEnd({ stop: () => db.$client.end({ timeout: 1 }) })
const api = await startApi(undefined, undefined, { world: await startSendingWorld({}, { url: database.url, db }) })

const EMAIL_FILTERS: Record<string, string[]> = {
  status: ['delivered', 'bounced'],
  sandbox: ['true', 'false'],
  recipient: ['ann@example.net', 'nobody@example.net', 'nob'],
  recipient_domain: ['example.net', 'example.org'],
  domain: ['example.test', 'example.org'],
  sender: ['hello@example.test', 'nobody@example.test'],
  tag: ['receipt', 'none'],
  tenant_id: ['acme', 'none'],
  subject: ['hello', 'nothing'],
  'metadata.order': ['1', '2'],
  in_doubt: ['true', 'false'],
  bounced_by: ['example.net'],
  feedback: ['complaint'],
}
const EVENT_FILTERS = Object.fromEntries(
  ['status', 'recipient', 'tag', 'tenant_id', 'feedback'].map((name) => [name, EMAIL_FILTERS[name]!]),
)
const SLOW_MS = 300
/** Those that begin within a second. */
const MOST = 4
const LISTS = { '/api/v1/emails': EMAIL_FILTERS, '/api/v1/events': EVENT_FILTERS }

test.each(Object.entries(LISTS))('a page of %s ends in time, whatever its filters', async (path, filters) => {
  const query = fc.record(
    Object.fromEntries(Object.entries(filters).map(([name, values]) => [name, fc.constantFrom(...values)])),
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(query, async (query) => {
      // The first page without delay: connections are open, and the key is known.
      const next = new URLSearchParams(query as Record<string, string>)
      slowMs = 0
      await api.call('GET', `${path}?${next}`, { key: api.keys.stranger })
      slowMs = SLOW_MS
      statements = 0
      const { status, json } = await api.call('GET', `${path}?${next}`, { key: api.keys.stranger })
      expect([status, statements <= MOST, typeof json.next_cursor]).toEqual([200, true, 'string'])
    }),
    { numRuns: 8 },
  )
})
