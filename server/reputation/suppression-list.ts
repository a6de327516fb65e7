import type { SQL } from 'drizzle-orm'
import { type EvidenceKind, EvidenceKindSchema } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database, Transaction } from '../db/connect.ts'
import { and, desc, eq, gt, gte, inArray, isNull, lt, or, sql } from '../db/drizzle.ts'
import { firstIdAt, newId } from '../db/ids.ts'
import { recipientDomainSql } from '../db/matching-sql.ts'
import { EVERYBODY, refusals, suppressions } from '../db/schema.ts'
import { one, run } from '../db/statement.ts'

export type SuppressionRow = typeof suppressions.$inferSelect

/** One list: an account's, or with `tenantId` that tenant's. The account `EVERYBODY` has the global one. */
export interface SuppressionList {
  accountId: string
  tenantId?: string
}

// The addresses are sorted, so that two concurrent imports cannot deadlock. A permanent entry of another import stays,
// but no longer belongs to that one: both have asked for it, so the undoing of one must not remove it. Entries with a
// given id are new; a join would compare each with each.
const ADD = `
  with given as (select id, email from json_to_recordset($1::json) as i(id uuid, email text)),
  added as (
    insert into suppressions as s (id, account_id, tenant_id, email, reason, import_id)
    select id, $2, $3, email, $4, $5 from given order by email
    on conflict (account_id, email, tenant_id) do update set
      id = case when s.expires_at is null then s.id else excluded.id end,
      reason = case when s.expires_at is null then s.reason else excluded.reason end,
      message_id = case when s.expires_at is null then s.message_id end,
      detail = case when s.expires_at is null then s.detail end,
      evidence = case when s.expires_at is null then s.evidence end,
      created_at = case when s.expires_at is null then s.created_at else excluded.created_at end,
      expires_at = null,
      import_id = case when s.expires_at is null then null else excluded.import_id end,
      replaced = case when s.expires_at is not null and excluded.import_id is not null then to_json(s) end
    where s.expires_at is not null or s.import_id <> coalesce(excluded.import_id, $6)
    returning s.id)
  select count(*) filter (where id in (select id from given))::int as count from added`

/** No import has this id. */
const NONE = '00000000-0000-0000-0000-000000000000'

/**
 * Adds addresses to a list, in one commit. A permanent entry is kept as it is; one that expires, or has expired, is
 * replaced.
 *
 * @param addresses in lower case with A-labels, no two alike
 * @param importId the import whose undoing removes the entries
 * @returns how many entries are new or replaced
 */
export async function addSuppressions(
  { db, clock }: { db: Database | Transaction; clock: DatabaseClock },
  { accountId, tenantId = '' }: SuppressionList,
  addresses: string[],
  reason: SuppressionRow['reason'],
  importId?: string,
): Promise<number> {
  const now = clock.now()
  const rows = JSON.stringify(addresses.map((email) => ({ id: newId(now), email })))
  const parameters = [rows, accountId, tenantId, reason, importId ?? null, NONE]
  return one(await run<{ count: number }>(db, ADD, parameters)).count
}

// Each address by itself, by its index. The planner does not know how many addresses a text has, and a join would
// compare each of them with each entry.
const NO_SCAN = `select set_config('enable_seqscan', 'off', true)`
const KNOWN = `
  select known.email from json_array_elements_text($1::json) as given(email)
  cross join lateral (
    select s.email from suppressions s
    where s.account_id = $2 and s.email = given.email and s.tenant_id = $3 and s.expires_at is null limit 1) known`

/** The addresses that have a permanent entry on a list: an import would not add them. */
export async function knownSuppressions(
  db: Database,
  { accountId, tenantId = '' }: SuppressionList,
  addresses: string[],
): Promise<Set<string>> {
  return db.transaction(async (tx) => {
    await run(tx, NO_SCAN)
    const rows = await run<{ email: string }>(tx, KNOWN, [JSON.stringify(addresses), accountId, tenantId])
    return new Set(rows.map(({ email }) => email))
  })
}

export interface SuppressionFilters {
  /** An address in its matching form, or in several: see erasure-key.ts. */
  addresses?: readonly string[]
  reason?: SuppressionRow['reason']
  tenantId?: string
  /** When the entry was created, in Unix milliseconds: from, and before. */
  fromMs?: number
  toMs?: number
  /** The domain of the address. */
  domain?: string
  /** What the evidence says. */
  kind?: EvidenceKind
  /** The id of the previous page's last entry. */
  after?: string
}

/** Lists the entries in force of an account and its tenants, newest first. With `addresses` the global entry too. */
export async function listSuppressions(
  db: Database,
  accountId: string,
  filters: SuppressionFilters,
  limit: number,
): Promise<SuppressionRow[]> {
  return db
    .select()
    .from(suppressions)
    .where(
      and(
        inArray(suppressions.accountId, filters.addresses === undefined ? [accountId] : [accountId, EVERYBODY]),
        matchingFilters(filters),
      ),
    )
    .orderBy(desc(suppressions.id))
    .limit(limit)
}

/** Returns the unexpired entry of an address on one list, or undefined. */
export async function findSuppression(
  db: Database | Transaction,
  list: SuppressionList,
  addresses: readonly string[],
): Promise<SuppressionRow | undefined> {
  const [row] = await db
    .select()
    .from(suppressions)
    .where(and(isOn(list, addresses), isInForce()))
  return row
}

/**
 * Removes an address from a list, and what counted against it there. Returns its entry; undefined when the list has no
 * unexpired one for it.
 */
export async function removeSuppression(
  db: Database | Transaction,
  list: SuppressionList,
  addresses: readonly string[],
): Promise<SuppressionRow | undefined> {
  const [removed] = await db
    .delete(suppressions)
    .where(and(isOn(list, addresses), isInForce()))
    .returning()
  if (removed) await db.delete(refusals).where(isOn(list, addresses, refusals))
  return removed
}

/** Which rows of a table are those of addresses on a list. */
function isOn(
  { accountId, tenantId = '' }: SuppressionList,
  addresses: readonly string[],
  of: typeof suppressions | typeof refusals = suppressions,
): SQL | undefined {
  return and(eq(of.accountId, accountId), inArray(of.email, [...addresses]), eq(of.tenantId, tenantId))
}

/** Which entries in force match every filter. */
export function matchingFilters(filters: SuppressionFilters): SQL | undefined {
  const { addresses, reason, tenantId, fromMs, toMs, domain, kind, after } = filters
  const { id, createdAt } = suppressions
  return and(
    isInForce(),
    addresses && inArray(suppressions.email, [...addresses]),
    reason && eq(suppressions.reason, reason),
    tenantId === undefined ? undefined : eq(suppressions.tenantId, tenantId),
    // The index has the ids, whose time is about that of the entry.
    fromMs === undefined ? undefined : and(gte(id, firstIdAt(fromMs - ID_SLACK_MS)), gte(createdAt, new Date(fromMs))),
    toMs === undefined ? undefined : and(lt(id, firstIdAt(toMs + ID_SLACK_MS)), lt(createdAt, new Date(toMs))),
    domain === undefined ? undefined : sql`${sql.raw(recipientDomainSql('email'))} = ${domain}`,
    kind === undefined ? undefined : sql`${suppressions.evidence} ->> 'kind' = ${evidenceKindJson(kind)}`,
    after === undefined ? undefined : lt(id, after),
  )
}

const ID_SLACK_MS = 3_600_000

/** A kind as stored evidence has it. */
const evidenceKindJson = (kind: EvidenceKind) => EvidenceKindSchema.value[kind]!.name

function isInForce(): SQL | undefined {
  return or(isNull(suppressions.expiresAt), gt(suppressions.expiresAt, sql`now()`))
}
