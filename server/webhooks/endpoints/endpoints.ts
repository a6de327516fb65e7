import type { Database, Transaction } from '../../db/connect.ts'
import { and, asc, eq, sql } from '../../db/drizzle.ts'
import { webhookEndpoints } from '../../db/schema.ts'
import { run } from '../../db/statement.ts'
import { fail } from '../../errors.ts'
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

export const noSuchEndpoint = (shown: string) =>
  fail(
    'not_found',
    `There is no endpoint ${JSON.stringify(shown.slice(0, 64))} in this account. List them: GET /api/v1/webhooks.`,
  )

export const NO_ENDPOINT = 'This account has no webhook endpoint. Set one: PUT /api/v1/webhook {"url": "https://..."}.'
const ALL_DISABLED =
  'All webhook endpoints of this account are disabled. Enable one, or name the one to send to in endpoint_id.'

/** The error of a replay to the enabled ones of an account's endpoints, of which there is none. */
export const noEnabledEndpoint = (endpoints: readonly unknown[]) =>
  fail('webhook_not_configured', endpoints.length === 0 ? NO_ENDPOINT : ALL_DISABLED)
