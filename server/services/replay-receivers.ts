import type { Database } from '../db/connect.ts'
import { eq } from '../db/drizzle.ts'
import { parsePublicId } from '../db/ids.ts'
import { type events, messages } from '../db/schema.ts'
import { fail } from '../errors.ts'
import { type Endpoint, findEndpoint, findEndpoints } from '../webhooks/endpoints.ts'
import { NO_ENDPOINT } from '../webhooks/replays/replay.ts'
import { noSuchEndpoint } from './webhooks.ts'

type EventRow = typeof events.$inferSelect

/**
 * Returns the ids of the endpoints that a replay sends an event to, the oldest first: the named one, or those that are
 * enabled and ask for the event, or all enabled ones if none asks for it. Throws `not_found` for an unknown name, and
 * `webhook_not_configured` when no endpoint is enabled.
 */
export async function receiversOfEvent(db: Database, row: EventRow, named: string | undefined): Promise<string[]> {
  if (named !== undefined) return [await readNamed(db, row.accountId, named)]
  const enabled = await enabledEndpoints(db, row.accountId)
  const domain = enabled.some(({ domains }) => domains !== null) ? await domainOf(db, row.messageId) : undefined
  const asking = enabled.filter((endpoint) => asksFor(endpoint, row, domain))
  return (asking.length > 0 ? asking : enabled).map(({ id }) => id)
}

/**
 * Adds the ids of their endpoints to the events of a message: the named one, or the enabled ones that ask for an
 * event's kind, whatever their other filters are. Leaves out the events of which there is none. Throws like
 * `receiversOfEvent`.
 */
export async function receiversOfMessage(db: Database, accountId: string, rows: EventRow[], named: string | undefined) {
  if (named !== undefined) {
    const endpointIds = [await readNamed(db, accountId, named)]
    return rows.map((row) => ({ ...row, endpointIds }))
  }
  const enabled = await enabledEndpoints(db, accountId)
  return rows.flatMap((row) => {
    const endpointIds = enabled.filter(({ events }) => events.includes(row.event)).map(({ id }) => id)
    return endpointIds.length === 0 ? [] : [{ ...row, endpointIds }]
  })
}

async function readNamed(db: Database, accountId: string, named: string): Promise<string> {
  const id = parsePublicId('whk', named)
  const endpoint = id && (await findEndpoint(db, accountId, id))
  if (!endpoint) throw noSuchEndpoint(named)
  return endpoint.id
}

async function enabledEndpoints(db: Database, accountId: string): Promise<Endpoint[]> {
  const endpoints = await findEndpoints(db, accountId)
  const enabled = endpoints.filter(({ disabled }) => !disabled)
  if (enabled.length > 0) return enabled
  throw fail('webhook_not_configured', endpoints.length === 0 ? NO_ENDPOINT : ALL_DISABLED)
}

export const ALL_DISABLED =
  'All webhook endpoints of this account are disabled. Enable one, or name the one to send to in endpoint_id.'

/** Reads the domain of From. */
async function domainOf(db: Database, messageId: string): Promise<string | undefined> {
  const [message] = await db.select({ domain: messages.domain }).from(messages).where(eq(messages.id, messageId))
  return message?.domain
}

/**
 * Whether an event matches the filters of an endpoint, as the commit of the event decides it in SQL (ledger/tail.ts).
 */
function asksFor(endpoint: Endpoint, row: EventRow, domain: string | undefined): boolean {
  const { events, statuses, tags, tenantIds, domains } = endpoint
  const isIn = (values: string[] | null, value: string | null | undefined) =>
    values === null || (value !== null && value !== undefined && values.includes(value))
  return (
    events.includes(row.event) &&
    statuses.includes(row.status) &&
    isIn(tags, row.tag) &&
    isIn(tenantIds, row.tenantId) &&
    isIn(domains, domain)
  )
}
