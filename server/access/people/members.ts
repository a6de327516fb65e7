import type { Database, Transaction } from '../../db/connect.ts'
import { asc, eq } from '../../db/drizzle.ts'
import { members, people } from '../../db/people-schema.ts'
import type { Role } from './access.ts'

/** A person of an account. */
export interface Member {
  personId: string
  name: string
  email: string
  role: Role
  secondFactor: boolean
  joinedAt: Date
}

const MEMBER = {
  personId: people.id,
  name: people.name,
  email: people.email,
  role: members.role,
  secondFactor: people.twoFactorEnabled,
  joinedAt: members.createdAt,
}

/** Lists the people of an account by name. */
export async function listMembers(db: Database | Transaction, accountId: string): Promise<Member[]> {
  const rows = await db
    .select(MEMBER)
    .from(members)
    .innerJoin(people, eq(people.id, members.personId))
    .where(eq(members.accountId, accountId))
    .orderBy(asc(people.name), asc(people.id))
  return rows.map((row) => ({ ...row, secondFactor: row.secondFactor ?? false }))
}
