import type { DatabaseClock } from '../../db/clock.ts'
import type { Database, Transaction } from '../../db/connect.ts'
import { eq } from '../../db/drizzle.ts'
import { newId } from '../../db/ids.ts'
import { credentials, members, people } from '../../db/people-schema.ts'
import { accounts } from '../../db/schema.ts'
import { record } from '../audit/record-change.ts'
import type { Role } from './access.ts'
import { PASSWORD_PROVIDER } from './credentials.ts'

export interface NewPerson {
  name: string
  /** As `personEmail` returns it. */
  email: string
  /** Absent for a person who signs in by OpenID Connect. */
  passwordHash?: string
  /** Whether the person has proven that the address is theirs; false by default. */
  emailVerified?: boolean
}

/** Finds the id of the person with this address, as `personEmail` returns it. */
export async function findPerson(db: Database | Transaction, email: string): Promise<string | undefined> {
  const [row] = await db.select({ id: people.id }).from(people).where(eq(people.email, email))
  return row?.id
}

/** Creates a person; returns undefined when the address has one. */
export async function createPerson(
  tx: Transaction,
  clock: DatabaseClock,
  { name, email, passwordHash, emailVerified }: NewPerson,
): Promise<string | undefined> {
  const id = newId(clock.now())
  const created = await tx
    .insert(people)
    .values({ id, name, email, emailVerified })
    .onConflictDoNothing({ target: people.email })
    .returning({ id: people.id })
  if (created.length === 0) return undefined
  if (passwordHash === undefined) return id
  const credential = { userId: id, accountId: id, providerId: PASSWORD_PROVIDER, password: passwordHash }
  await tx.insert(credentials).values({ id: newId(clock.now()), ...credential })
  return id
}

interface Joining {
  personId: string
  email: string
  /** null for all accounts. */
  accountId: string | null
  role: Role
  remoteAddress?: string
}

/** Adds a person to an account or to all of them. A person who belongs to one already keeps the role there. */
export async function join(
  tx: Transaction,
  { personId, email, accountId, role, remoteAddress }: Joining,
): Promise<void> {
  const joined = accountId === null ? await tx.select({ id: accounts.id }).from(accounts) : [{ id: accountId }]
  if (joined.length === 0) return
  const added = await tx
    .insert(members)
    .values(joined.map(({ id }) => ({ accountId: id, personId, role })))
    .onConflictDoNothing()
    .returning({ accountId: members.accountId })
  for (const { accountId } of added) {
    const actor = { kind: 'person', id: personId, email } as const
    await record(tx, { accountId, actor, remoteAddress, action: 'person.join', target: email, after: { role } })
  }
}
