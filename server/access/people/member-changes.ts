import type { DatabaseClock } from '../../db/clock.ts'
import type { Database, Transaction } from '../../db/connect.ts'
import { and, asc, eq } from '../../db/drizzle.ts'
import { members, people } from '../../db/people-schema.ts'
import { fail } from '../../errors.ts'
import { type ApiKey, listKeysOf, revokeKey } from '../api-keys.ts'
import { authorIn, type Requester } from '../audit/change-as.ts'
import { type Author, record } from '../audit/record-change.ts'
import type { Role } from './access.ts'
import { endInvitationsOf } from './invitations.ts'
import { listMembers, type Member } from './members.ts'

interface MemberChangeParts {
  db: Database
  clock: DatabaseClock
}

/**
 * Changes the role of a person of the requester's account. The invitations of one who is no longer an owner end. Throws
 * `not_found` and `last_owner`.
 */
export async function changeRole(
  { db, clock }: MemberChangeParts,
  requester: Requester,
  personId: string,
  role: Role,
): Promise<Member> {
  return changeMember(db, requester, { personId, mayLeaveNoOwner: role === 'owner' }, async (tx, author, member) => {
    await tx.update(members).set({ role }).where(isMember(author.accountId, personId))
    const change = { target: member.email, before: { role: member.role }, after: { role } }
    await record(tx, { ...author, action: 'person.role', ...change })
    if (role !== 'owner') await endInvitationsOf(tx, clock, author, personId)
    return { ...member, role }
  })
}

/**
 * Removes a person from the requester's account, ends the invitations that they made, and revokes the keys that they
 * created if asked. One who then belongs to no account is deleted, so that a new invitation sets a new password.
 * Returns the keys that worked until now. Throws `not_found`, and `last_owner` unless the operator asks.
 */
export async function removeMember(
  { db, clock }: MemberChangeParts,
  requester: Requester,
  { personId, revokeKeys }: { personId: string; revokeKeys: boolean },
): Promise<{ member: Member; keys: ApiKey[] }> {
  const whom = { personId, mayLeaveNoOwner: requester.actor.kind === 'operator' }
  return changeMember(db, requester, whom, async (tx, author, member) => {
    const { accountId } = author
    await tx.delete(members).where(isMember(accountId, personId))
    await record(tx, { ...author, action: 'person.remove', target: member.email, before: { role: member.role } })
    await endInvitationsOf(tx, clock, author, personId)
    const keys = await listKeysOf(tx, clock, accountId, personId)
    if (revokeKeys)
      for (const [i, key] of keys.entries()) keys[i] = (await revokeKey(tx, accountId, key.id, author)) ?? key
    if ((await tx.$count(members, eq(members.personId, personId))) === 0) {
      await tx.delete(people).where(eq(people.id, personId))
    }
    return { member, keys }
  })
}

const isMember = (accountId: string, personId: string) =>
  and(eq(members.accountId, accountId), eq(members.personId, personId))

interface Whom {
  personId: string
  mayLeaveNoOwner: boolean
}

/** Changes a person of the requester's account. Throws `not_found`, and `last_owner` where an owner must be left. */
function changeMember<Result>(
  db: Database,
  requester: Requester,
  whom: Whom,
  change: (tx: Transaction, author: Author, member: Member) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    await lockMembers(tx, requester.accountId)
    const author = await authorIn(tx, requester)
    return change(tx, author, await findMember(tx, author.accountId, whom))
  })
}

/**
 * Locks all people of the account, so that two changes at once cannot both leave the other's owner as the last. One of
 * them may be the requester, whose right is locked next.
 */
async function lockMembers(tx: Transaction, accountId: string): Promise<void> {
  await tx
    .select({ personId: members.personId })
    .from(members)
    .where(eq(members.accountId, accountId))
    .orderBy(asc(members.personId))
    .for('update')
}

async function findMember(tx: Transaction, accountId: string, { personId, mayLeaveNoOwner }: Whom): Promise<Member> {
  const all = await listMembers(tx, accountId)
  const member = all.find((one) => one.personId === personId)
  if (!member) throw fail('not_found', 'There is no such person in this account.')
  const owners = all.filter(({ role }) => role === 'owner')
  if (member.role === 'owner' && !mayLeaveNoOwner && owners.length === 1) {
    throw fail('last_owner', `${member.email} is the only owner of this account. Make another person an owner first.`)
  }
  return member
}
