import type { SQL } from 'drizzle-orm'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import { changeAs, type Requester } from '../access/audit/change-as.ts'
import { record } from '../access/audit/record-change.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database, Transaction } from '../db/connect.ts'
import { and, asc, eq, isNull, lte, ne, or, sql } from '../db/drizzle.ts'
import type { Sealer } from '../db/encryption.ts'
import { newId, publicId } from '../db/ids.ts'
import { lockAccount } from '../db/lock-account.ts'
import { accounts, dkimKeys, domains } from '../db/schema.ts'
import { one } from '../db/statement.ts'
import { isNameTaken } from '../directory/verified-names.ts'
import { failField } from '../errors.ts'
import { makeDkimKey } from './dkim-key.ts'

/** The most domains that calls add to an account: List domains returns all of them in one response. */
const MAX_DOMAINS = 1_000

export type DkimKeyRow = typeof dkimKeys.$inferSelect

/** A domain with its DKIM keys, the oldest key first, and the tier of its account. */
export type Domain = typeof domains.$inferSelect & { dkimKeys: DkimKeyRow[]; tier: string | null }

export interface DomainParts {
  db: Database
  sealer: Sealer
  clock: DatabaseClock
}

interface NewDomain {
  accountId: string
  /** As `readDomainName` returns it. */
  name: string
  /** `verified`: the operator vouches for the records, and DNS is no longer checked automatically. */
  status: 'pending' | 'verified'
  /** Whether its daily volume is limited in the days after its verification; true when absent. */
  warmsUp?: boolean
  /** Whether its mail may only leave over TLS with a valid certificate; false when absent. */
  requiresTls?: boolean
  /** For the audit log. Absent for domains that the service adds by itself, such as those of `npm start`. */
  requester?: Requester
}

/** What the audit log shows of a domain. */
function recorded({ id, status, warmsUp, requiresTls, pool }: Omit<Domain, 'dkimKeys' | 'tier'>) {
  return { domain_id: publicId('dom', id), status, warm_up: warmsUp, require_tls: requiresTls, pool }
}

/**
 * Adds a domain with its first DKIM key, and has its DNS checked at once. The same name again returns the existing
 * domain with its key, and applies the new settings: an operator adds a domain, publishes its records, and then vouches
 * for it. Throws when another account has verified the name and this one is vouched for too.
 */
export async function createDomain(parts: DomainParts, domain: NewDomain): Promise<Domain> {
  const { db } = parts
  const { accountId, name } = domain
  // The loop repeats only when another call deletes the domain at this moment.
  for (;;) {
    if (!(await findDomain(db, accountId, name))) await insertDomain(parts, domain)
    await changeDomain(db, domain)
    const created = await findDomain(db, accountId, name)
    if (created) return created
  }
}

async function insertDomain({ db, sealer, clock }: DomainParts, domain: NewDomain): Promise<void> {
  const { accountId, name, warmsUp, requiresTls, requester } = domain
  const now = new Date(clock.now())
  const id = newId(now.getTime())
  const key = await makeDkimKey(sealer, newId(now.getTime()), id, now)
  await changeAs(db, requester, async (tx, author) => {
    await lockAccount(tx, accountId)
    const row = { id, accountId, name, status: 'pending', nextCheckAt: now, warmsUp, requiresTls } as const
    const target = [domains.accountId, domains.name]
    const [created] = await tx.insert(domains).values(row).onConflictDoNothing({ target }).returning()
    if (!created) return
    if (author && author.actor.kind !== 'operator') await refuseWithoutRoom(tx, domain)
    await tx.insert(dkimKeys).values(key)
    if (author) await record(tx, { ...author, action: 'domain.create', target: name, after: recorded(created) })
  })
}

/** Throws when the account has as many other domains as calls may add. */
export async function refuseWithoutRoom(
  from: Database | Transaction,
  { accountId, name }: Pick<NewDomain, 'accountId' | 'name'>,
): Promise<void> {
  const others = and(eq(domains.accountId, accountId), ne(domains.name, name))
  if ((await from.$count(domains, others)) < MAX_DOMAINS) return
  throw failField('domain', `is one too many: the account has ${MAX_DOMAINS}. Delete those that send nothing any more`)
}

/** The columns of a domain that the operator vouches for. */
const VOUCHED_FOR = {
  status: 'verified',
  verifiedAt: sql`case when ${domains.status} = 'verified' then ${domains.verifiedAt} else now() end`,
  nextCheckAt: null,
  failingSince: null,
} as const

async function changeDomain(db: Database, domain: NewDomain): Promise<void> {
  const { accountId, name, status, warmsUp, requiresTls, requester } = domain
  const changes = {
    ...(status === 'verified' ? VOUCHED_FOR : {}),
    // A domain that is warm stays warm.
    ...(warmsUp === false ? { warmsUp } : {}),
    ...(requiresTls === undefined ? {} : { requiresTls }),
  }
  if (Object.keys(changes).length === 0) return
  const sameDomain = and(eq(domains.accountId, accountId), eq(domains.name, name))
  await updateDomain(db, sameDomain, changes, requester).catch(refuseTaken(name))
}

/** Changes a domain, if there is one. */
function updateDomain(
  db: Database,
  isIt: SQL | undefined,
  changes: PgUpdateSetSource<typeof domains>,
  requester: Requester | undefined,
): Promise<void> {
  return changeAs(db, requester, async (tx, author) => {
    const [before] = await tx.select().from(domains).where(isIt).for('update')
    if (!before) return
    const after = one(await tx.update(domains).set(changes).where(isIt).returning())
    const fields = { target: before.name, before: recorded(before), after: recorded(after) }
    if (author) await record(tx, { ...author, action: 'domain.change', ...fields })
  })
}

/** Explains a violation of the index that keeps a verified name for one account. */
function refuseTaken(name: string) {
  return (error: Error) => {
    if (!isNameTaken(error)) throw error
    throw new Error(`${name} is verified in another account. It has to be removed there first.`, { cause: error })
  }
}

/** The domains of an account, in the order of their names. */
export async function listDomains(db: Database, accountId: string): Promise<Domain[]> {
  return readDomains(db, eq(domains.accountId, accountId))
}

export async function findDomain(db: Database, accountId: string, name: string): Promise<Domain | undefined> {
  const [domain] = await readDomains(db, and(eq(domains.accountId, accountId), eq(domains.name, name)))
  return domain
}

export async function findDomainById(db: Database, id: string): Promise<Domain | undefined> {
  const [domain] = await readDomains(db, eq(domains.id, id))
  return domain
}

/** Reads domains in the order of their names. The join returns a domain once for each of its keys. */
async function readDomains(db: Database, where: SQL | undefined): Promise<Domain[]> {
  const rows = await db
    .select({ domain: domains, key: dkimKeys, tier: accounts.tier })
    .from(domains)
    .innerJoin(accounts, eq(accounts.id, domains.accountId))
    .leftJoin(dkimKeys, eq(dkimKeys.domainId, domains.id))
    .where(where)
    .orderBy(asc(domains.name), asc(dkimKeys.id))
  const rowsByDomain = Map.groupBy(rows, ({ domain }) => domain.id)
  return [...rowsByDomain.values()].flatMap((rowsOfDomain) => {
    const dkimKeys = rowsOfDomain.flatMap(({ key }) => key ?? [])
    const [first] = rowsOfDomain
    return first ? [{ ...first.domain, tier: first.tier, dkimKeys }] : []
  })
}

/** Changes the settings that are given. `pool: null` takes the pool of the account's tier. */
export async function changeSettings(
  db: Database,
  id: string,
  settings: { requiresTls?: boolean; pool?: string | null },
  requester?: Requester,
): Promise<void> {
  await updateDomain(db, eq(domains.id, id), settings, requester)
}

/** Deletes the domain and its keys. */
export async function deleteDomain(db: Database, id: string, requester?: Requester): Promise<void> {
  await changeAs(db, requester, async (tx, author) => {
    const [deleted] = await tx.delete(domains).where(eq(domains.id, id)).returning()
    const fields = deleted && { target: deleted.name, before: recorded(deleted) }
    if (author && fields) await record(tx, { ...author, action: 'domain.delete', ...fields })
  })
}

/** Begins a check of the domain. Returns false when another check of it began within the last 5 s. */
export async function beginCheck(db: Database, id: string): Promise<boolean> {
  const latest = sql`now() - interval '5 seconds'`
  const rows = await db
    .update(domains)
    .set({ checkedAt: sql`now()` })
    .where(and(eq(domains.id, id), or(isNull(domains.checkedAt), lte(domains.checkedAt, latest))))
    .returning({ id: domains.id })
  return rows.length > 0
}
