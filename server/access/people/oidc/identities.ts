import type { DatabaseClock } from '../../../db/clock.ts'
import type { Database, Transaction } from '../../../db/connect.ts'
import { and, asc, eq, inArray, ne, notInArray } from '../../../db/drizzle.ts'
import { newId } from '../../../db/ids.ts'
import { credentials, people } from '../../../db/people-schema.ts'
import { fail } from '../../../errors.ts'
import { recordForPerson } from '../../audit/record-for-person.ts'
import { PASSWORD_PROVIDER } from '../credentials.ts'

// An identity is a credential whose provider is the issuer (`iss`) and whose id there is the subject (`sub`).

export interface PersonOfIdentity {
  personId: string
  email: string
  twoFactorEnabled: boolean
}

interface Who {
  personId: string
  email: string
  remoteAddress: string | undefined
}

interface OidcSubject {
  issuer: string
  subject: string
}

/** Finds the person whom an identity is linked to. */
export async function findPersonOf(
  db: Database | Transaction,
  { issuer, subject }: OidcSubject,
): Promise<PersonOfIdentity | undefined> {
  const [row] = await db
    .select({ personId: people.id, email: people.email, twoFactorEnabled: people.twoFactorEnabled })
    .from(credentials)
    .innerJoin(people, eq(people.id, credentials.userId))
    .where(and(eq(credentials.providerId, issuer), eq(credentials.accountId, subject)))
  return row && { ...row, twoFactorEnabled: row.twoFactorEnabled ?? false }
}

/** Stores an identity of a person. Returns false when it is already linked to a person. */
export async function storeIdentity(
  tx: Transaction,
  clock: DatabaseClock,
  { issuer, subject }: OidcSubject,
  personId: string,
): Promise<boolean> {
  const row = { id: newId(clock.now()), userId: personId, providerId: issuer, accountId: subject }
  const stored = await tx.insert(credentials).values(row).onConflictDoNothing().returning({ id: credentials.id })
  return stored.length > 0
}

/** Links an identity to a person, who has one at most at an issuer. Throws `wrong_state`. */
export async function linkIdentity(
  tx: Transaction,
  clock: DatabaseClock,
  identity: OidcSubject,
  { personId, email, remoteAddress }: Who,
): Promise<void> {
  await lockPerson(tx, personId)
  const { issuer } = identity
  const isTheirs = and(eq(credentials.userId, personId), eq(credentials.providerId, issuer))
  if ((await tx.$count(credentials, isTheirs)) > 0) {
    throw fail('wrong_state', 'Your sign-in is linked to an identity there already. Unlink it first.')
  }
  if (!(await storeIdentity(tx, clock, identity, personId))) {
    throw fail('wrong_state', 'This identity is linked to another person.')
  }
  await recordForPerson(tx, { personId, email, remoteAddress, action: 'person.oidc_link', after: { issuer } })
}

/**
 * Unlinks a person's identity at an issuer. Throws `not_found`, and `wrong_state` where neither a password nor an
 * identity at the current issuer would be left.
 */
export async function unlinkIdentity(
  tx: Transaction,
  { personId, email, remoteAddress, issuer, currentIssuer }: Who & { issuer: string; currentIssuer?: string },
): Promise<void> {
  await lockPerson(tx, personId)
  const ofPerson = eq(credentials.userId, personId)
  const others = await tx
    .select({ provider: credentials.providerId })
    .from(credentials)
    .where(and(ofPerson, ne(credentials.providerId, issuer)))
  if (!others.some(({ provider }) => provider === PASSWORD_PROVIDER || provider === currentIssuer)) {
    throw fail('wrong_state', 'It is the only way you can sign in. It stays linked until you have a password.')
  }
  const isIt = and(ofPerson, eq(credentials.providerId, issuer), ne(credentials.providerId, PASSWORD_PROVIDER))
  const unlinked = await tx.delete(credentials).where(isIt).returning({ id: credentials.id })
  if (unlinked.length === 0) throw fail('not_found', 'Your sign-in is not linked to an identity of this issuer.')
  await recordForPerson(tx, { personId, email, remoteAddress, action: 'person.oidc_unlink', before: { issuer } })
}

/** How a person can sign in: whether by a password, and the identities, the oldest first. */
export async function signInMethodsOf(db: Database, personId: string) {
  const rows = await db
    .select({ provider: credentials.providerId, createdAt: credentials.createdAt })
    .from(credentials)
    .where(eq(credentials.userId, personId))
    .orderBy(asc(credentials.createdAt), asc(credentials.id))
  const identities = rows.filter(({ provider }) => provider !== PASSWORD_PROVIDER)
  return {
    hasPassword: identities.length < rows.length,
    identities: identities.map(({ provider: issuer, createdAt }) => ({ issuer, createdAt })),
  }
}

/** The people who have neither a password nor an identity at the current issuer. They cannot sign in. */
export async function peopleWithoutSignIn(db: Database, issuer: string | undefined): Promise<string[]> {
  const usable = db
    .select({ personId: credentials.userId })
    .from(credentials)
    .where(inArray(credentials.providerId, [PASSWORD_PROVIDER, ...(issuer === undefined ? [] : [issuer])]))
  const rows = await db
    .select({ email: people.email })
    .from(people)
    .where(notInArray(people.id, usable))
    .orderBy(asc(people.email))
  return rows.map(({ email }) => email)
}

/** Two changes of how a person signs in, made at once, could leave no way. */
async function lockPerson(tx: Transaction, personId: string): Promise<void> {
  await tx.select({ id: people.id }).from(people).where(eq(people.id, personId)).for('update')
}
