import type { Transaction } from './connect.ts'
import { eq } from './drizzle.ts'
import { accounts } from './schema.ts'

/**
 * Lets one transaction at a time, over all processes, decide what an account may have more of. Lock first: a later
 * statement then sees what the transaction before has committed. Inserts that refer to the account do not wait.
 */
export async function lockAccount(tx: Transaction, accountId: string): Promise<void> {
  await tx.select({ id: accounts.id }).from(accounts).where(eq(accounts.id, accountId)).for('no key update')
}
