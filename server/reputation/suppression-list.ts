import type { SQL } from 'drizzle-orm'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database, Transaction } from '../db/connect.ts'
import { and, desc, eq, gt, inArray, isNull, lt, or, sql } from '../db/drizzle.ts'
import { newId } from '../db/ids.ts'
import { EVERYBODY, suppressions } from '../db/schema.ts'
import { run } from '../db/statement.ts'

export type SuppressionRow = typeof suppressions.$inferSelect

/** One list: an account's, or with `tenantId` that tenant's. The account `EVERYBODY` has the global one. */
export interface SuppressionList {
  accountId: string
  tenantId?: string
}

// The addresses are sorted, so that two concurrent imports cannot deadlock.
const ADD = `
  insert into suppressions as s (id, account_id, tenant_id, email, reason)
  select i.id, $2, $3, i.email, $4 from json_to_recordset($1::json) as i(id uuid, email text) order by i.email
  on conflict (account_id, email, tenant_id) do update
    set id = excluded.id, reason = excluded.reason, message_id = null, detail = null,
      created_at = excluded.created_at, expires_at = null
    where s.expires_at is not null`

/**
 * Adds addresses to a list, in one commit. A permanent entry is kept as it is; one that expires, or has expired, is
 * replaced.
 *
 * @param addresses in lower case with A-labels, no two alike
 * @returns how many entries are new or replaced
 */
export async function addSuppressions(
  { db, clock }: { db: Database | Transaction; clock: DatabaseClock },
  { accountId, tenantId = '' }: SuppressionList,
  addresses: string[],
  reason: SuppressionRow['reason'],
): Promise<number> {
  const now = clock.now()
  const rows = JSON.stringify(addresses.map((email) => ({ id: newId(now), email })))
  return (await run(db, ADD, [rows, accountId, tenantId, reason])).count
}

export interface SuppressionFilters {
  /** An address in its matching form, or in several: see erasure-key.ts. */
  addresses?: readonly string[]
  reason?: SuppressionRow['reason']
  tenantId?: string
  /** The id of the previous page's last entry. */
  after?: string
}

/** Lists the entries in force of an account and its tenants, newest first. With `addresses` the global entry too. */
export async function listSuppressions(
  db: Database,
  accountId: string,
  { addresses, reason, tenantId, after }: SuppressionFilters,
  limit: number,
): Promise<SuppressionRow[]> {
  return db
    .select()
    .from(suppressions)
    .where(
      and(
        inArray(suppressions.accountId, addresses === undefined ? [accountId] : [accountId, EVERYBODY]),
        isInForce(),
        addresses && inArray(suppressions.email, [...addresses]),
        reason && eq(suppressions.reason, reason),
        tenantId === undefined ? undefined : eq(suppressions.tenantId, tenantId),
        after === undefined ? undefined : lt(suppressions.id, after),
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

/** Removes an address from a list. Returns its entry; undefined when the list has no unexpired one for it. */
export async function removeSuppression(
  db: Database | Transaction,
  list: SuppressionList,
  addresses: readonly string[],
): Promise<SuppressionRow | undefined> {
  const [removed] = await db
    .delete(suppressions)
    .where(and(isOn(list, addresses), isInForce()))
    .returning()
  return removed
}

function isOn({ accountId, tenantId = '' }: SuppressionList, addresses: readonly string[]): SQL | undefined {
  return and(
    eq(suppressions.accountId, accountId),
    inArray(suppressions.email, [...addresses]),
    eq(suppressions.tenantId, tenantId),
  )
}

function isInForce(): SQL | undefined {
  return or(isNull(suppressions.expiresAt), gt(suppressions.expiresAt, sql`now()`))
}
