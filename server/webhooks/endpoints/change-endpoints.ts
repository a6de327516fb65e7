import { changeAs, type Requester } from '../../access/audit/change-as.ts'
import { type Author, record } from '../../access/audit/record-change.ts'
import type { Database, Transaction } from '../../db/connect.ts'
import { and, eq, isNull, sql } from '../../db/drizzle.ts'
import type { Sealer } from '../../db/encryption.ts'
import { newId, publicId } from '../../db/ids.ts'
import { lockAccount } from '../../db/lock-account.ts'
import { MAX_ENDPOINTS, webhookEndpoints, webhookUrls } from '../../db/schema.ts'
import { one, run } from '../../db/statement.ts'
import { ENDED_NOW, intoDispatchHistory, MAX_CANCELLED } from '../attempt/end.ts'
import { newSecret } from '../attempt/signature.ts'
import { type Endpoint, findEndpoint, findEndpoints, isEndpoint, now, SHOWN, type WhichEndpoint } from './endpoints.ts'

interface Parts {
  db: Database
  sealer: Sealer
}

/** An endpoint, and its secret when the secret is new: it cannot be read again later. */
export interface EndpointWithSecret {
  endpoint: Endpoint
  secret?: string
}

/** Why an endpoint is refused, as the rest of a sentence that begins with the name of the field `url`. */
export interface RefusedUrl {
  refused: string
}

/** What a caller sets of an endpoint. A member that is absent stays as it is, or has its default. */
export type EndpointFields = Partial<
  Pick<Endpoint, 'url' | 'description' | 'events' | 'statuses' | 'tags' | 'tenantIds' | 'domains' | 'disabled'>
>
type NewEndpoint = EndpointFields & Pick<Endpoint, 'url'>

const OVERLAP_HOURS = 24

const { urlVersion } = webhookEndpoints

function seal(sealer: Sealer, secret: string, column: 'secret' | 'previous_secret', endpointId: string): Buffer {
  return sealer.seal(Buffer.from(secret), { table: 'webhook_endpoints', column, id: endpointId })
}

/** Creates an endpoint with a new secret. */
export async function createEndpoint(
  { db, sealer }: Parts,
  accountId: string,
  fields: NewEndpoint,
  requester?: Requester,
): Promise<EndpointWithSecret | RefusedUrl> {
  return changeAmong(db, accountId, requester, async ({ tx, author, endpoints }) => {
    const refused = faultOf(fields.url, endpoints)
    if (refused) return { refused }
    const created = await insert(tx, sealer, { accountId, ...fields })
    if (author) await record(tx, { ...author, action: 'webhook.create', ...change(created.endpoint) })
    return created
  })
}

/**
 * Creates the account's first endpoint with a new secret, or changes the existing one and keeps its secret. The first
 * one is that of `/api/v1/webhook`.
 */
export async function putFirst(
  { db, sealer }: Parts,
  accountId: string,
  fields: NewEndpoint,
  requester?: Requester,
): Promise<EndpointWithSecret | RefusedUrl> {
  return changeAmong(db, accountId, requester, async ({ tx, author, endpoints }) => {
    const before = endpoints.find(({ first }) => first)
    const refused = faultOf(fields.url, endpoints, before)
    if (refused) return { refused }
    const put = before
      ? { endpoint: await update(tx, before, fields) }
      : await insert(tx, sealer, { accountId, first: true, ...fields })
    if (author) await record(tx, { ...author, action: 'webhook.set', ...change(put.endpoint, before) })
    return put
  })
}

/** Changes an endpoint. Resolves to undefined when the account has none of this id. */
export async function changeEndpoint(
  { db }: Parts,
  accountId: string,
  id: string,
  fields: EndpointFields,
  requester?: Requester,
): Promise<Endpoint | RefusedUrl | undefined> {
  return changeAmong(db, accountId, requester, async ({ tx, author, endpoints }) => {
    const before = endpoints.find((endpoint) => endpoint.id === id)
    if (!before) return undefined
    const refused = fields.url === undefined ? undefined : faultOf(fields.url, endpoints, before)
    if (refused) return { refused }
    const endpoint = await update(tx, before, fields)
    if (author) await record(tx, { ...author, action: 'webhook.change', ...change(endpoint, before) })
    return endpoint
  })
}

interface Among {
  tx: Transaction
  author: Author | undefined
  /** The account's endpoints. No other transaction changes them meanwhile. */
  endpoints: Endpoint[]
}

function changeAmong<Result>(
  db: Database,
  accountId: string,
  requester: Requester | undefined,
  change: (among: Among) => Promise<Result>,
): Promise<Result> {
  return changeAs(db, requester, async (tx, author) => {
    await lockAccount(tx, accountId)
    return change({ tx, author, endpoints: await findEndpoints(tx, accountId) })
  })
}

/** Says why a URL may not be that of `changed`, or of a new endpoint; undefined when it may. */
function faultOf(url: string, endpoints: readonly Endpoint[], changed?: Endpoint): string | undefined {
  if (!changed && endpoints.length >= MAX_ENDPOINTS)
    return `is that of one endpoint too many: an account has at most ${MAX_ENDPOINTS}. Delete one first`
  const others = endpoints.filter(({ id }) => id !== changed?.id)
  const same = others.find((other) => new URL(other.url).href === new URL(url).href)
  return same && `is already that of the endpoint ${publicId('whk', same.id)}. Change that one`
}

async function insert(
  tx: Transaction,
  sealer: Sealer,
  fields: NewEndpoint & { accountId: string; first?: boolean },
): Promise<EndpointWithSecret> {
  const secret = newSecret()
  const id = newId(Date.now())
  const row = { id, ...fields, secret: seal(sealer, secret, 'secret', id) }
  const endpoint = one(await tx.insert(webhookEndpoints).values(row).returning(SHOWN))
  await tx.insert(webhookUrls).values({ accountId: fields.accountId, endpointId: id, version: 1, url: fields.url })
  return { endpoint, secret }
}

async function update(tx: Transaction, before: Endpoint, fields: EndpointFields): Promise<Endpoint> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  const changed = given.filter(([name, value]) => !isSame(value, before[name as keyof Endpoint]))
  if (changed.length === 0) return before
  const { url, ...others }: EndpointFields = Object.fromEntries(changed)
  const newUrl = url === undefined ? {} : { url, urlVersion: sql`${urlVersion} + 1` }
  const rows = await tx
    .update(webhookEndpoints)
    .set({ ...others, ...newUrl, updatedAt: now })
    .where(eq(webhookEndpoints.id, before.id))
    .returning({ ...SHOWN, urlVersion, accountId: webhookEndpoints.accountId })
  const { urlVersion: version, accountId, ...endpoint } = one(rows)
  if (url !== undefined) {
    await retireUrl(tx, before.id)
    await tx.insert(webhookUrls).values({ accountId, endpointId: before.id, version, url })
  }
  return endpoint
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/** Marks the endpoint's current URL as one of the past. */
async function retireUrl(tx: Transaction, endpointId: string): Promise<void> {
  await tx
    .update(webhookUrls)
    .set({ replacedAt: now })
    .where(and(eq(webhookUrls.endpointId, endpointId), isNull(webhookUrls.replacedAt)))
}

/** What the audit log says of a change. */
function change(endpoint: Endpoint, before?: Endpoint) {
  return { target: endpoint.url, before: before && recorded(before), after: recorded(endpoint) }
}

/** What the audit log shows of an endpoint. */
function recorded({ url, events, statuses, description, tags, tenantIds, domains, disabled }: Endpoint) {
  const optional = { description, tags, tenant_ids: tenantIds, domains, disabled: disabled || null }
  const set = Object.entries(optional).filter(([, value]) => value !== null)
  return { url, events, statuses, ...Object.fromEntries(set) }
}

/** Gives an endpoint a new secret. The old one also signs for 24 hours. Resolves to undefined without the endpoint. */
export async function rotateSecret(
  { db, sealer }: Parts,
  accountId: string,
  which: WhichEndpoint,
  requester?: Requester,
): Promise<EndpointWithSecret | undefined> {
  return changeAs(db, requester, async (tx, author) => {
    const { id, secret: column } = webhookEndpoints
    const [row] = await tx
      .select({ id, secret: column })
      .from(webhookEndpoints)
      .where(isEndpoint(accountId, which))
      .for('update')
    if (!row) return undefined
    const place = { table: 'webhook_endpoints', column: 'secret', id: row.id }
    const oldSecret = sealer.open(row.secret, place).toString()
    const secret = newSecret()
    const rows = await tx
      .update(webhookEndpoints)
      .set({
        secret: seal(sealer, secret, 'secret', row.id),
        previousSecret: seal(sealer, oldSecret, 'previous_secret', row.id),
        previousUntil: sql`${now} + ${OVERLAP_HOURS} * interval '1 hour'`,
        updatedAt: now,
      })
      .where(eq(id, row.id))
      .returning(SHOWN)
    const endpoint = one(rows)
    if (author) await record(tx, { ...author, action: 'webhook.rotate_secret', target: endpoint.url })
    return { endpoint, secret }
  })
}

/** Before every id. */
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

const DELETE = `
  with endpoint as (
    delete from webhook_endpoints where id = $1 returning id, account_id
  )
  delete from webhook_hours h using endpoint e where h.account_id = e.account_id and h.endpoint_id = e.id`

// A piece of the dispatches that wait, in the order of their ids. One whose attempt is running ends with that attempt
// as acknowledged, or is cancelled before the next one. So does one that is locked, and what a killed process has left.
const CANCEL_PIECE = `
  with piece as materialized (
    select id from open_dispatches where endpoint_id = $1 and id > $2 order by id limit ${MAX_CANCELLED}
  ),
  open as materialized (
    select d.id, d.workflow_id,
      d.started_at is not null or coalesce(d.lease_until > clock_timestamp(), false) as is_attempted
    from open_dispatches d join piece p on p.id = d.id
    order by d.id for update of d skip locked
  ),
  cancelled as (
    delete from open_dispatches d using open o where d.id = o.id and not o.is_attempted returning d.*
  ),
  kept as (${intoDispatchHistory('cancelled', "'cancelled'", ENDED_NOW)}
  )
  select (select max(id::text) from piece) as last,
    coalesce((select json_agg(distinct workflow_id) from open where workflow_id is not null), '[]') as "workflowIds"`

/**
 * Deletes an endpoint with its secrets and its figures, and then cancels the dispatches that wait, in pieces: there may
 * be a million. Nothing is posted from the deletion on. Returns the ids of the workflows that have nothing left to
 * attempt; undefined without the endpoint.
 */
export async function deleteEndpoint(
  db: Database,
  accountId: string,
  which: WhichEndpoint,
  requester?: Requester,
): Promise<string[] | undefined> {
  const endpointId = await changeAs(db, requester, async (tx, author) => {
    await lockAccount(tx, accountId)
    const endpoint = await findEndpoint(tx, accountId, which)
    if (!endpoint) return undefined
    await run(tx, DELETE, [endpoint.id])
    await retireUrl(tx, endpoint.id)
    const fields = { target: endpoint.url, before: recorded(endpoint) }
    if (author) await record(tx, { ...author, action: 'webhook.delete', ...fields })
    return endpoint.id
  })
  return endpointId === undefined ? undefined : cancelWaiting(db, endpointId)
}

async function cancelWaiting(db: Database, endpointId: string): Promise<string[]> {
  const found: string[] = []
  for (let after: string | null = BEFORE_ALL; after !== null; ) {
    type Piece = { last: string | null; workflowIds: string[] }
    const { last, workflowIds }: Piece = one(await run<Piece>(db, CANCEL_PIECE, [endpointId, after]))
    found.push(...workflowIds)
    after = last
  }
  return [...new Set(found)]
}
