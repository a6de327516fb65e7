import type { Database } from '../db/connect.ts'
import { parsePublicId } from '../db/ids.ts'
import type { events } from '../db/schema.ts'
import { failField } from '../errors.ts'
import { type Endpoint, findAskingIds, findEndpoint, findEndpoints } from '../webhooks/endpoints/endpoints.ts'
import { noEnabledEndpoint } from '../webhooks/replays/replay.ts'
import { noSuchEndpoint } from './endpoints.ts'

type EventRow = typeof events.$inferSelect

/**
 * Returns the ids of the endpoints that a replay sends an event to, the oldest first: the named one, or those that are
 * enabled and ask for the event, or all enabled ones if none asks for it. Throws `not_found` for an unknown name, and
 * `webhook_not_configured` when no endpoint is enabled.
 */
export async function receiversOfEvent(db: Database, row: EventRow, named: string | undefined): Promise<string[]> {
  if (named !== undefined) return [await readNamedEndpoint(db, row.accountId, named)]
  const enabled = await enabledEndpoints(db, row.accountId)
  const asking = await findAskingIds(db, row)
  return asking.length > 0 ? asking : enabled.map(({ id }) => id)
}

/**
 * Adds the ids of their endpoints to the events of a message: the named one, or the enabled ones that ask for an
 * event's kind, whatever their other filters are. Leaves out the events of which there is none. Throws like
 * `receiversOfEvent`.
 */
export async function receiversOfMessage(db: Database, accountId: string, rows: EventRow[], named: string | undefined) {
  if (named !== undefined) {
    const endpointIds = [await readNamedEndpoint(db, accountId, named)]
    return rows.map((row) => ({ ...row, endpointIds }))
  }
  const enabled = await enabledEndpoints(db, accountId)
  return rows.flatMap((row) => {
    const endpointIds = enabled.filter(({ events }) => events.includes(row.event)).map(({ id }) => id)
    return endpointIds.length === 0 ? [] : [{ ...row, endpointIds }]
  })
}

/** An empty id usually comes from a variable without a value. To send to all endpoints then would be a surprise. */
export function refuseEmptyName(named: string | undefined): void {
  if (named === '')
    throw failField(
      'endpoint_id',
      'must be the id of an endpoint. Leave it out to send to every endpoint that asks for the event',
    )
}

/** Returns the id of an endpoint of the account. Throws `not_found` for an unknown one. */
export async function readNamedEndpoint(db: Database, accountId: string, named: string): Promise<string> {
  const id = parsePublicId('whk', named)
  const endpoint = id && (await findEndpoint(db, accountId, id))
  if (!endpoint) throw noSuchEndpoint(named)
  return endpoint.id
}

async function enabledEndpoints(db: Database, accountId: string): Promise<Endpoint[]> {
  const endpoints = await findEndpoints(db, accountId)
  const enabled = endpoints.filter(({ disabled }) => !disabled)
  if (enabled.length === 0) throw noEnabledEndpoint(endpoints)
  return enabled
}
