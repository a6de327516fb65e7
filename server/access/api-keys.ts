import type { DatabaseClock } from '../db/clock.ts'
import type { Database, Transaction } from '../db/connect.ts'
import { and, asc, eq, getTableColumns, gt, isNull, or, sql } from '../db/drizzle.ts'
import { newId, publicId } from '../db/ids.ts'
import { lockAccount } from '../db/lock-account.ts'
import { apiKeys } from '../db/schema.ts'
import { one } from '../db/statement.ts'
import { readCell } from '../directory/cell.ts'
import { fail, failField } from '../errors.ts'
import { hashKey, hintOfKey, type KeyKind, makeKey } from './api-key.ts'
import { changeAs, type Requester } from './audit/change-as.ts'
import { record } from './audit/record-change.ts'
import { heldScopes, SCOPES, SCOPES_OF } from './scopes.ts'

/** The most keys of an account that people make, with those that have ended: List keys returns all of them. */
const MAX_KEYS = 1_000

const { hash: _, ...shown } = getTableColumns(apiKeys)

export type ApiKey = Omit<typeof apiKeys.$inferSelect, 'hash'>

export interface NewKey {
  accountId: string
  name: string
  kind: KeyKind
  /** Scopes that a key of this kind may have. */
  scopes: readonly string[]
  expiresAt?: Date
  /** For the audit log. Absent for keys that the service creates by itself, such as those of `npm start`. */
  requester?: Requester
}

/**
 * Creates a key. Only its hash is stored, so the returned text cannot be had again. Throws `invalid_payload` for scopes
 * that a key of this kind cannot have.
 */
export async function createKey(
  db: Database,
  clock: DatabaseClock,
  { accountId, name, kind, scopes, expiresAt, requester }: NewKey,
): Promise<{ key: string; apiKey: ApiKey }> {
  const refused = scopesRefused(kind, scopes)
  if (refused) throw fail('invalid_payload', refused, { fields: [{ field: 'scopes', message: refused }] })
  const cell = await readCell(db)
  const key = makeKey(kind, cell)
  const row = {
    id: newId(clock.now()),
    accountId,
    name,
    hint: hintOfKey(key, cell),
    hash: hashKey(key),
    test: kind === 'test',
    scopes: [...scopes],
    createdBy: requester?.actor.kind === 'person' ? requester.actor.id : null,
    expiresAt,
  }
  const apiKey = await changeAs(db, requester, async (tx, author) => {
    if (author?.actor.kind === 'person') await checkRoom(tx, accountId)
    const created = one(await tx.insert(apiKeys).values(row).returning(shown))
    if (author) await record(tx, { ...author, action: 'key.create', target: name, after: auditedKey(created) })
    return created
  })
  return { key, apiKey }
}

/** The calls of sessions do not count for the tier. */
async function checkRoom(tx: Transaction, accountId: string): Promise<void> {
  await lockAccount(tx, accountId)
  if ((await tx.$count(apiKeys, eq(apiKeys.accountId, accountId))) < MAX_KEYS) return
  const message = `is of one key too many: the account has ${MAX_KEYS}. Revoked keys count for 90 days`
  throw failField('name', message)
}

/** What the audit log shows of a key. */
function auditedKey({ id, test, scopes, expiresAt, revokedAt }: ApiKey) {
  return { key_id: publicId('key', id), test, scopes, expires_at: expiresAt, revoked_at: revokedAt }
}

/** Says why a key of this kind cannot have these scopes; undefined when it can. */
export function scopesRefused(kind: KeyKind, scopes: readonly string[]): string | undefined {
  const permitted = SCOPES_OF[kind]
  const refused = scopes.filter((scope) => !permitted.includes(scope))
  if (refused.length === 0) return undefined
  const unknown = refused.filter((scope) => !SCOPES.includes(scope))
  if (unknown.length > 0) return `No such scope: ${unknown.join(', ')}. Scopes are ${SCOPES.join(', ')}.`
  const why = 'it changes nothing that live mail depends on'
  return `A test key cannot have ${refused.join(', ')}: ${why}. It can have ${permitted.join(', ')}.`
}

/** Lists the keys of an account, the oldest first, including revoked and expired keys. */
export async function listKeys(db: Database, accountId: string): Promise<ApiKey[]> {
  const keys = await db.select(shown).from(apiKeys).where(eq(apiKeys.accountId, accountId)).orderBy(asc(apiKeys.id))
  return keys.map((key) => ({ ...key, scopes: heldScopes(key) }))
}

/** Lists the keys of an account that a person created and that work, the oldest first. */
export async function listKeysOf(
  db: Database | Transaction,
  clock: DatabaseClock,
  accountId: string,
  personId: string,
): Promise<ApiKey[]> {
  const works = and(
    isNull(apiKeys.revokedAt),
    or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, new Date(clock.now()))),
  )
  const keys = await db
    .select(shown)
    .from(apiKeys)
    .where(and(eq(apiKeys.accountId, accountId), eq(apiKeys.createdBy, personId), works))
    .orderBy(asc(apiKeys.id))
  return keys.map((key) => ({ ...key, scopes: heldScopes(key) }))
}

/** Revokes a key and returns it with the time of its first revocation; undefined when the account has no such key. */
export async function revokeKey(
  db: Database | Transaction,
  accountId: string,
  keyId: string,
  requester?: Requester,
): Promise<ApiKey | undefined> {
  const isIt = and(eq(apiKeys.accountId, accountId), eq(apiKeys.id, keyId))
  return changeAs(db, requester, async (tx, author) => {
    const [before] = await tx.select(shown).from(apiKeys).where(isIt).for('update')
    if (!before) return undefined
    const revokedAt = sql`coalesce(${apiKeys.revokedAt}, clock_timestamp())`
    const revoked = one(await tx.update(apiKeys).set({ revokedAt }).where(isIt).returning(shown))
    const fields = { target: before.name, before: auditedKey(before), after: auditedKey(revoked) }
    if (author) await record(tx, { ...author, action: 'key.revoke', ...fields })
    return { ...revoked, scopes: heldScopes(revoked) }
  })
}
