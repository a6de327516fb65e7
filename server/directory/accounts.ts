import type { DatabaseClock } from '../db/clock.ts'
import type { Database, Transaction } from '../db/connect.ts'
import { asc, eq } from '../db/drizzle.ts'
import { newId } from '../db/ids.ts'
import { accounts } from '../db/schema.ts'
import { one } from '../db/statement.ts'

export type Account = typeof accounts.$inferSelect

export async function createAccount(db: Database | Transaction, clock: DatabaseClock, name: string): Promise<Account> {
  const account = { id: newId(clock.now()), name }
  return one(await db.insert(accounts).values(account).returning())
}

/** Lists all accounts, the oldest first. */
export async function listAccounts(db: Database): Promise<Account[]> {
  return db.select().from(accounts).orderBy(asc(accounts.id))
}

/** Sets the tier of an account that exists; null means the default tier. */
export async function setTier(db: Database | Transaction, accountId: string, tier: string | null): Promise<Account> {
  return one(await db.update(accounts).set({ tier }).where(eq(accounts.id, accountId)).returning())
}

/** Renames an account. Returns its previous name. */
export async function renameAccount(tx: Transaction, accountId: string, name: string): Promise<string> {
  const isIt = eq(accounts.id, accountId)
  const before = one(await tx.select({ name: accounts.name }).from(accounts).where(isIt).for('no key update'))
  await tx.update(accounts).set({ name }).where(isIt)
  return before.name
}
