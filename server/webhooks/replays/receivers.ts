import type { ReplayFilter } from '../../../gen/verdict/admin/v1/replays_pb.ts'
import type { Database } from '../../db/connect.ts'
import { parsePublicId, publicId } from '../../db/ids.ts'
import type { events } from '../../db/schema.ts'
import { run, UNPREPARED } from '../../db/statement.ts'
import { failField } from '../../errors.ts'
import { asksFor } from '../../ledger/tail.ts'
import {
  type Endpoint,
  findEndpoint,
  findEndpoints,
  noEnabledEndpoint,
  noSuchEndpoint,
} from '../endpoints/endpoints.ts'

type EventRow = typeof events.$inferSelect

// An event may outlive its message, whose domain of From is then not known.
const ASKING = `
  select w.id
  from (
    select e.account_id, e.event, e.status, e.tag, e.tenant_id, m.domain
    from events e left join messages m on m.id = e.message_id and m.id = $2
    where e.id = $1
  ) e
  join webhook_endpoints w on ${asksFor('e.event')}
  order by w.created_at, w.id`

/**
 * Returns the ids of the endpoints that a replay sends an event to, the oldest first: the named one, or those that are
 * enabled and ask for the event, or all enabled ones if none asks for it. Throws `not_found` for an unknown name, and
 * `webhook_not_configured` when no endpoint is enabled.
 */
export async function receiversOfEvent(db: Database, row: EventRow, named: string | undefined): Promise<string[]> {
  if (named !== undefined) return [await readNamedEndpoint(db, row.accountId, named)]
  const enabled = await enabledEndpoints(db, row.accountId)
  // Only a plan made for these ids leaves out the days that cannot hold them.
  const asking = await run<{ id: string }>(db, ASKING, [row.id, row.messageId], UNPREPARED)
  return (asking.length > 0 ? asking : enabled).map(({ id }) => id)
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

/** The endpoints of an account that a replay with this filter sends events to: the named one, or all enabled ones. */
export function receiversOf({ endpointId }: ReplayFilter, endpoints: readonly Endpoint[]): Endpoint[] {
  return endpoints.filter(({ id, disabled }) =>
    endpointId === undefined ? !disabled : publicId('whk', id) === endpointId,
  )
}
