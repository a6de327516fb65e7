import type { Database, Transaction } from '../../db/connect.ts'
import { and, asc, eq, sql } from '../../db/drizzle.ts'
import { webhookEndpoints } from '../../db/schema.ts'
import { run } from '../../db/statement.ts'
import { asksFor } from '../../ledger/tail.ts'
import { TARGET_COLUMNS, type TargetRow } from '../attempt/target.ts'

/** Which events an endpoint asks for. null is no filter. */
type EndpointFilters = Pick<
  typeof webhookEndpoints.$inferSelect,
  'events' | 'statuses' | 'tags' | 'tenantIds' | 'domains'
>

export interface Endpoint
  extends EndpointFilters,
    Pick<
      typeof webhookEndpoints.$inferSelect,
      'id' | 'first' | 'url' | 'description' | 'disabled' | 'createdAt' | 'updatedAt'
    > {
  /** Until when requests are also signed with the previous secret; null when they are not. */
  previousUntil: Date | null
}

/** Names an endpoint of an account: by its id (UUID), or as the account's first one. */
export type WhichEndpoint = string | 'first'

export const now = sql`clock_timestamp()`

const { previousUntil } = webhookEndpoints

/** The columns of an `Endpoint`. */
export const SHOWN = {
  id: webhookEndpoints.id,
  first: webhookEndpoints.first,
  url: webhookEndpoints.url,
  description: webhookEndpoints.description,
  events: webhookEndpoints.events,
  statuses: webhookEndpoints.statuses,
  tags: webhookEndpoints.tags,
  tenantIds: webhookEndpoints.tenantIds,
  domains: webhookEndpoints.domains,
  disabled: webhookEndpoints.disabled,
  createdAt: webhookEndpoints.createdAt,
  updatedAt: webhookEndpoints.updatedAt,
  previousUntil: sql<Date | null>`case when ${previousUntil} > ${now} then ${previousUntil} end`.mapWith(previousUntil),
}

export const isEndpoint = (accountId: string, which: WhichEndpoint) =>
  and(
    eq(webhookEndpoints.accountId, accountId),
    which === 'first' ? webhookEndpoints.first : eq(webhookEndpoints.id, which),
  )

/** Reads the endpoints of an account, the oldest first. */
export async function findEndpoints(db: Database | Transaction, accountId: string): Promise<Endpoint[]> {
  const { id, createdAt } = webhookEndpoints
  return db
    .select(SHOWN)
    .from(webhookEndpoints)
    .where(eq(webhookEndpoints.accountId, accountId))
    .orderBy(asc(createdAt), asc(id))
}

export async function findEndpoint(
  db: Database | Transaction,
  accountId: string,
  which: WhichEndpoint,
): Promise<Endpoint | undefined> {
  const [endpoint] = await db.select(SHOWN).from(webhookEndpoints).where(isEndpoint(accountId, which))
  return endpoint
}

const TARGET = `
  select ${TARGET_COLUMNS} from webhook_endpoints w
  where w.account_id = $1 and case when $2 = 'first' then w.first else w.id::text = $2 end`

/** Reads an endpoint as an attempt needs it, for a test call. Attempts themselves read it in `begin.ts`. */
export async function findTarget(
  db: Database,
  accountId: string,
  which: WhichEndpoint,
): Promise<TargetRow | undefined> {
  const [row] = await run<TargetRow>(db, TARGET, [accountId, which])
  return row
}

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

/** Returns the ids of the enabled endpoints that ask for a stored event, the oldest first. */
export async function findAskingIds(db: Database, event: { id: string; messageId: string }): Promise<string[]> {
  // Only a plan made for these ids leaves out the days that cannot hold them.
  const rows = await run<{ id: string }>(db, ASKING, [event.id, event.messageId], { prepare: false })
  return rows.map(({ id }) => id)
}
