import type { Database, Transaction } from '../db/connect.ts'
import { and, eq } from '../db/drizzle.ts'
import { members, notificationChoices, TROUBLE_KINDS } from '../db/people-schema.ts'
import type { TroubleKind } from './troubles.ts'

interface Whose {
  accountId: string
  personId: string
}

/** Reads the kinds that a person of an account gets mail about. By default an owner gets all, and others get none. */
export async function readChoice(db: Database, { accountId, personId }: Whose): Promise<readonly TroubleKind[]> {
  const { kinds } = notificationChoices
  const isTheirs = and(eq(notificationChoices.accountId, accountId), eq(notificationChoices.personId, personId))
  const [row] = await db
    .select({ kinds, role: members.role })
    .from(members)
    .leftJoin(notificationChoices, isTheirs)
    .where(and(eq(members.accountId, accountId), eq(members.personId, personId)))
  if (row?.kinds) return row.kinds
  return row?.role === 'owner' ? TROUBLE_KINDS : []
}

/** Stores the choice of a person who belongs to the account. */
export async function storeChoice(db: Transaction, whose: Whose, kinds: TroubleKind[]): Promise<void> {
  const target = [notificationChoices.accountId, notificationChoices.personId]
  await db
    .insert(notificationChoices)
    .values({ ...whose, kinds })
    .onConflictDoUpdate({ target, set: { kinds } })
}
