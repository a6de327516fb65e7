import { type Author, record } from '../audit/record.ts'
import type { Database, Transaction } from '../db/connect.ts'
import { and, asc, eq } from '../db/drizzle.ts'
import { members, people } from '../db/people-schema.ts'
import { fail } from '../errors.ts'
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

/** Changes the role of a person of the author's account. Throws `not_found` and `last_owner`. */
export async function changeRole(db: Database, author: Author, personId: string, role: Role): Promise<Member> {
  return db.transaction(async (tx) => {
    const member = await lockMember(tx, author.accountId, personId, { mayLeaveNoOwner: role === 'owner' })
    await tx.update(members).set({ role }).where(isMember(author.accountId, personId))
    const change = { target: member.email, before: { role: member.role }, after: { role } }
    await record(tx, { ...author, action: 'person.role', ...change })
    return { ...member, role }
  })
}

/**
 * Removes a person from the author's account. One who then belongs to no account is deleted, so that a new invitation
 * sets a new password. Throws `not_found`, and `last_owner` unless the operator is the author.
 */
export async function removeMember(db: Database, author: Author, personId: string): Promise<Member> {
  return db.transaction(async (tx) => {
    const mayLeaveNoOwner = author.actor.kind === 'operator'
    const member = await lockMember(tx, author.accountId, personId, { mayLeaveNoOwner })
    await tx.delete(members).where(isMember(author.accountId, personId))
    if ((await tx.$count(members, eq(members.personId, personId))) === 0) {
      await tx.delete(people).where(eq(people.id, personId))
    }
    await record(tx, { ...author, action: 'person.remove', target: member.email, before: { role: member.role } })
    return member
  })
}

const isMember = (accountId: string, personId: string) =>
  and(eq(members.accountId, accountId), eq(members.personId, personId))

/** Locks all people of the account, so that two changes at once cannot both leave the other's owner as the last. */
async function lockMember(
  tx: Transaction,
  accountId: string,
  personId: string,
  { mayLeaveNoOwner }: { mayLeaveNoOwner: boolean },
): Promise<Member> {
  await tx
    .select({ personId: members.personId })
    .from(members)
    .where(eq(members.accountId, accountId))
    .orderBy(asc(members.personId))
    .for('update')
  const all = await listMembers(tx, accountId)
  const member = all.find((one) => one.personId === personId)
  if (!member) throw fail('not_found', 'There is no such person in this account.')
  const owners = all.filter(({ role }) => role === 'owner')
  if (member.role === 'owner' && !mayLeaveNoOwner && owners.length === 1) {
    throw fail('last_owner', `${member.email} is the only owner of this account. Make another person an owner first.`)
  }
  return member
}
