import type { Database, Transaction } from '../../db/connect.ts'
import { eq } from '../../db/drizzle.ts'
import { members } from '../../db/people-schema.ts'
import { type Actor, type Change, record } from './record-change.ts'

interface PersonChange extends Pick<Change, 'action' | 'before' | 'after' | 'remoteAddress'> {
  personId: string
  email: string
  /** By default the person. */
  actor?: Actor
}

/** Writes what happened to a person's own access into the audit log of every account that they belong to. */
export async function recordForPerson(tx: Database | Transaction, change: PersonChange): Promise<void> {
  const { personId, email, actor = { kind: 'person', id: personId, email }, ...rest } = change
  const accounts = await tx.select({ id: members.accountId }).from(members).where(eq(members.personId, personId))
  for (const { id } of accounts) await record(tx, { ...rest, accountId: id, actor, target: email })
}
