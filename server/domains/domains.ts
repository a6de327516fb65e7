import { and, asc, eq, ne, type SQL } from 'drizzle-orm'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import type { Sealer } from '../db/encryption.ts'
import { newId } from '../db/ids.ts'
import { dkimKeys, domains } from '../db/schema.ts'
import { makeDkimKey } from './dkim-key.ts'

export type DkimKey = typeof dkimKeys.$inferSelect
export type Domain = typeof domains.$inferSelect & {
  /** The oldest first. */
  dkimKeys: DkimKey[]
}

interface NewDomain {
  accountId: string
  /** As `readDomainName` gives it. */
  name: string
  status: 'pending' | 'verified'
  /** Whether its daily volume is limited in the days after its verification; true when absent. */
  warmsUp?: boolean
}

/**
 * Adds a domain with its first DKIM key. The same name again gives the domain that is there, with the key it has, verified when
 * that is said now: an operator adds a domain, publishes its records, and then says so.
 */
export async function createDomain(
  { db, sealer, clock }: { db: Database; sealer: Sealer; clock: DatabaseClock },
  { accountId, name, status, warmsUp = true }: NewDomain,
): Promise<Domain> {
  const now = new Date(clock.now())
  const id = newId(now.getTime())
  const verified = { status: 'verified', verifiedAt: now } as const
  const key = await makeDkimKey(sealer, newId(now.getTime()), id, now)
  await db.transaction(async (tx) => {
    const row = { id, accountId, name, warmsUp, ...(status === 'verified' ? verified : { status }) }
    const made = await tx.insert(domains).values(row).onConflictDoNothing().returning({ id: domains.id })
    const same = and(eq(domains.accountId, accountId), eq(domains.name, name))
    if (made.length > 0) await tx.insert(dkimKeys).values(key)
    else if (status === 'verified') {
      await tx
        .update(domains)
        .set(verified)
        .where(and(same, ne(domains.status, 'verified')))
    }
    if (!warmsUp) await tx.update(domains).set({ warmsUp }).where(same)
  })
  return (await findDomain(db, accountId, name))!
}

/** In the order of their names. */
export async function listDomains(db: Database, accountId: string): Promise<Domain[]> {
  return readDomains(db, eq(domains.accountId, accountId))
}

export async function findDomain(db: Database, accountId: string, name: string): Promise<Domain | undefined> {
  const [domain] = await readDomains(db, and(eq(domains.accountId, accountId), eq(domains.name, name))!)
  return domain
}

/** Each domain comes as one row for each of its keys. */
async function readDomains(db: Database, where: SQL): Promise<Domain[]> {
  const rows = await db
    .select({ domain: domains, key: dkimKeys })
    .from(domains)
    .leftJoin(dkimKeys, eq(dkimKeys.domainId, domains.id))
    .where(where)
    .orderBy(asc(domains.name), asc(dkimKeys.id))
  const found = new Map<string, Domain>()
  for (const { domain, key } of rows) {
    const known = found.get(domain.id) ?? { ...domain, dkimKeys: [] }
    if (key) known.dkimKeys.push(key)
    found.set(domain.id, known)
  }
  return [...found.values()]
}
