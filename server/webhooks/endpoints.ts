import { changeAs, type Requester } from '../access/audit/change-as.ts'
import { record } from '../access/audit/record-change.ts'
import type { Database, Transaction } from '../db/connect.ts'
import { and, eq, sql } from '../db/drizzle.ts'
import type { Sealer } from '../db/encryption.ts'
import { webhookEndpoints } from '../db/schema.ts'
import { run } from '../db/statement.ts'
import { ENDED_NOW, intoDispatchHistory } from './end.ts'
import { newSecret } from './signature.ts'
import { TARGET_COLUMNS, type TargetRow } from './target.ts'

export interface Endpoint extends Pick<typeof webhookEndpoints.$inferSelect, 'events' | 'statuses'> {
  url: string
  createdAt: Date
  updatedAt: Date
  /** Until when requests are also signed with the previous secret; null when they are not. */
  previousUntil: Date | null
}

/** An endpoint, and its secret when the secret is new: it cannot be read again later. */
export interface EndpointWithSecret {
  endpoint: Endpoint
  secret?: string
}

interface Parts {
  db: Database
  sealer: Sealer
}

const OVERLAP_HOURS = 24

const now = sql`clock_timestamp()`
const { url, events, statuses, createdAt, updatedAt, previousUntil } = webhookEndpoints
const SHOWN = {
  url,
  events,
  statuses,
  createdAt,
  updatedAt,
  previousUntil: sql<Date | null>`case when ${previousUntil} > ${now} then ${previousUntil} end`.mapWith(previousUntil),
}

const ofAccount = (accountId: string) => eq(webhookEndpoints.accountId, accountId)

function seal(sealer: Sealer, secret: string, column: 'secret' | 'previous_secret', accountId: string): Buffer {
  return sealer.seal(Buffer.from(secret), { table: 'webhook_endpoints', column, id: accountId })
}

export async function findEndpoint(db: Database | Transaction, accountId: string): Promise<Endpoint | undefined> {
  const [endpoint] = await db.select(SHOWN).from(webhookEndpoints).where(ofAccount(accountId))
  return endpoint
}

const TARGET = `select ${TARGET_COLUMNS} from webhook_endpoints w where w.account_id = $1`

/** Reads the account's current endpoint as an attempt needs it. */
export async function findTarget(db: Database, accountId: string): Promise<TargetRow | undefined> {
  const [row] = await run<TargetRow>(db, TARGET, [accountId])
  return row
}

/**
 * Creates the endpoint with a new secret, or changes the existing one and keeps its secret. A list that is undefined
 * stays as it is.
 */
export async function putEndpoint(
  { db, sealer }: Parts,
  accountId: string,
  change: Pick<Endpoint, 'url'> & Partial<Pick<Endpoint, 'events' | 'statuses'>>,
  requester?: Requester,
): Promise<EndpointWithSecret> {
  const secret = newSecret()
  const isSame = and(
    eq(url, change.url),
    change.events && eq(events, change.events),
    change.statuses && eq(statuses, change.statuses),
  )
  return changeAs(db, requester, async (tx, author) => {
    const before = await findEndpoint(tx, accountId)
    const [row] = await tx
      .insert(webhookEndpoints)
      .values({ accountId, ...change, secret: seal(sealer, secret, 'secret', accountId) })
      .onConflictDoUpdate({
        target: webhookEndpoints.accountId,
        set: { ...change, updatedAt: sql`case when ${isSame} then ${updatedAt} else ${now} end` },
      })
      .returning({ ...SHOWN, isNew: sql<boolean>`xmax = 0` })
    const { isNew, ...endpoint } = row!
    const fields = { target: endpoint.url, before: before && recorded(before), after: recorded(endpoint) }
    if (author) await record(tx, { ...author, action: 'webhook.set', ...fields })
    return isNew ? { endpoint, secret } : { endpoint }
  })
}

/** What the audit log shows of an endpoint. */
function recorded({ url, events, statuses }: Endpoint) {
  return { url, events, statuses }
}

/** Gives the endpoint a new secret. The old one also signs for 24 hours. Returns undefined without an endpoint. */
export async function rotateSecret(
  { db, sealer }: Parts,
  accountId: string,
  requester?: Requester,
): Promise<EndpointWithSecret | undefined> {
  // Repeats only when another call rotated the secret between the two statements.
  for (;;) {
    const [row] = await db
      .select({ secret: webhookEndpoints.secret })
      .from(webhookEndpoints)
      .where(ofAccount(accountId))
    if (!row) return undefined
    const oldSecret = sealer
      .open(row.secret, { table: 'webhook_endpoints', column: 'secret', id: accountId })
      .toString()
    const secret = newSecret()
    const change = {
      secret: seal(sealer, secret, 'secret', accountId),
      previousSecret: seal(sealer, oldSecret, 'previous_secret', accountId),
      previousUntil: sql`${now} + ${OVERLAP_HOURS} * interval '1 hour'`,
      updatedAt: now,
    }
    const isUnchanged = and(ofAccount(accountId), eq(webhookEndpoints.secret, row.secret))
    const endpoint = await changeAs(db, requester, async (tx, author) => {
      const [rotated] = await tx.update(webhookEndpoints).set(change).where(isUnchanged).returning(SHOWN)
      if (rotated && author) await record(tx, { ...author, action: 'webhook.rotate_secret', target: rotated.url })
      return rotated
    })
    if (endpoint) return { endpoint, secret }
  }
}

// Dispatches that wait end in the commit that deletes the endpoint. They are locked in the order of their ids, as
// everywhere. A dispatch whose attempt is running ends with that attempt as acknowledged. Without time left it is
// cancelled before the next, even if the account has a new endpoint by then.
const DELETE = `
  with endpoint as (
    delete from webhook_endpoints where account_id = $1 returning account_id
  ),
  health as (
    delete from webhook_hours h using endpoint e where h.account_id = e.account_id
  ),
  open as materialized (
    select d.id, d.workflow_id,
      d.started_at is not null or coalesce(d.lease_until > clock_timestamp(), false) as is_attempted
    from open_dispatches d join endpoint e on e.account_id = d.account_id
    order by d.id for update of d
  ),
  cancelled as (
    delete from open_dispatches d using open o where d.id = o.id and not o.is_attempted returning d.*
  ),
  kept as (${intoDispatchHistory('cancelled', "'cancelled'", ENDED_NOW)}
  ),
  attempted as (
    update open_dispatches d set deadline_at = 'epoch' from open o where d.id = o.id and o.is_attempted
  )
  select coalesce((select json_agg(distinct workflow_id) from open where workflow_id is not null), '[]') as "workflowIds"
  from endpoint`

/**
 * Deletes the endpoint with its secrets and its figures, and cancels the dispatches that wait. Returns the ids of the
 * workflows that have nothing left to attempt; undefined without an endpoint.
 */
export async function deleteEndpoint(
  db: Database,
  accountId: string,
  requester?: Requester,
): Promise<string[] | undefined> {
  return changeAs(db, requester, async (tx, author) => {
    const endpoint = await findEndpoint(tx, accountId)
    const [row] = await run<{ workflowIds: string[] }>(tx, DELETE, [accountId])
    const fields = row && endpoint && { target: endpoint.url, before: recorded(endpoint) }
    if (author && fields) await record(tx, { ...author, action: 'webhook.delete', ...fields })
    return row?.workflowIds
  })
}
