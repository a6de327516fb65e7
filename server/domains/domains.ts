import type { SQL } from 'drizzle-orm'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { and, asc, eq, isNull, lte, or, sql } from '../db/drizzle.ts'
import type { Sealer } from '../db/encryption.ts'
import { newId } from '../db/ids.ts'
import { dkimKeys, domains } from '../db/schema.ts'
import { makeDkimKey } from './dkim-key.ts'

export type DkimKey = typeof dkimKeys.$inferSelect

/** A domain with its DKIM keys, the oldest key first. */
export type Domain = typeof domains.$inferSelect & { dkimKeys: DkimKey[] }

export interface DomainParts {
  db: Database
  sealer: Sealer
  clock: DatabaseClock
}

interface NewDomain {
  accountId: string
  /** As `readDomainName` gives it. */
  name: string
  /** `verified`: the operator vouches for the records, and they are not looked for any more by themselves. */
  status: 'pending' | 'verified'
  /** Whether its daily volume is limited in the days after its verification; true when absent. */
  warmsUp?: boolean
  /** Whether its mail may only leave over TLS with a valid certificate; false when absent. */
  requiresTls?: boolean
}

/**
 * Adds a domain with its first DKIM key, which DNS is asked about at once. The same name again gives the domain that is there, with
 * the key it has and with what is said of it now: an operator adds a domain, publishes its records, and then vouches for it. Throws
 * when another account has the name verified and this one vouches for it too.
 */
export async function createDomain(parts: DomainParts, domain: NewDomain): Promise<Domain> {
  const { db } = parts
  const { accountId, name } = domain
  // Round again only when somebody deletes it at this moment.
  for (;;) {
    if (!(await findDomain(db, accountId, name))) await insertDomain(parts, domain)
    await changeDomain(db, domain)
    const made = await findDomain(db, accountId, name)
    if (made) return made
  }
}

async function insertDomain({ db, sealer, clock }: DomainParts, { accountId, name }: NewDomain): Promise<void> {
  const now = new Date(clock.now())
  const id = newId(now.getTime())
  const key = await makeDkimKey(sealer, newId(now.getTime()), id, now)
  await db.transaction(async (tx) => {
    const row = { id, accountId, name, status: 'pending', nextCheckAt: now } as const
    const target = [domains.accountId, domains.name]
    const made = await tx.insert(domains).values(row).onConflictDoNothing({ target }).returning({ id: domains.id })
    if (made.length > 0) await tx.insert(dkimKeys).values(key)
  })
}

const VOUCHED = {
  status: 'verified',
  verifiedAt: sql`case when ${domains.status} = 'verified' then ${domains.verifiedAt} else now() end`,
  nextCheckAt: null,
  failingSince: null,
} as const

async function changeDomain(db: Database, { accountId, name, status, warmsUp, requiresTls }: NewDomain): Promise<void> {
  const changes = {
    ...(status === 'verified' ? VOUCHED : {}),
    // Once it is known to be warm, it stays so.
    ...(warmsUp === false ? { warmsUp } : {}),
    ...(requiresTls === undefined ? {} : { requiresTls }),
  }
  if (Object.keys(changes).length === 0) return
  const same = and(eq(domains.accountId, accountId), eq(domains.name, name))
  await db.update(domains).set(changes).where(same).catch(refuseTaken(name))
}

/** Rejects in words when it is the index that holds a verified name for one account. */
function refuseTaken(name: string) {
  return (error: { cause?: { constraint_name?: string } }) => {
    if (error.cause?.constraint_name !== 'domains_verified_name') throw error
    throw new Error(`${name} is verified in another account. It has to be removed there first.`, { cause: error })
  }
}

/** In the order of their names. */
export async function listDomains(db: Database, accountId: string): Promise<Domain[]> {
  return readDomains(db, eq(domains.accountId, accountId))
}

export async function findDomain(db: Database, accountId: string, name: string): Promise<Domain | undefined> {
  const [domain] = await readDomains(db, and(eq(domains.accountId, accountId), eq(domains.name, name))!)
  return domain
}

export async function findDomainById(db: Database, id: string): Promise<Domain | undefined> {
  const [domain] = await readDomains(db, eq(domains.id, id))
  return domain
}

function readDomains(db: Database, where: SQL): Promise<Domain[]> {
  return db.query.domains.findMany({
    where,
    orderBy: asc(domains.name),
    with: { dkimKeys: { orderBy: asc(dkimKeys.id) } },
  })
}

export async function setRequiresTls(db: Database, id: string, requiresTls: boolean): Promise<void> {
  await db.update(domains).set({ requiresTls }).where(eq(domains.id, id))
}

/** With its keys. */
export async function deleteDomain(db: Database, id: string): Promise<void> {
  await db.delete(domains).where(eq(domains.id, id))
}

/** Whether DNS may be asked about the domain now: it is not while another check of it began within 5 s. Then this one has begun. */
export async function beginCheck(db: Database, id: string): Promise<boolean> {
  const before = sql`now() - interval '5 seconds'`
  const begun = await db
    .update(domains)
    .set({ checkedAt: sql`now()` })
    .where(and(eq(domains.id, id), or(isNull(domains.checkedAt), lte(domains.checkedAt, before))))
    .returning({ id: domains.id })
  return begun.length > 0
}
