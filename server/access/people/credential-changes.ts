import type { Database, Transaction } from '../../db/connect.ts'
import { and, eq, ne } from '../../db/drizzle.ts'
import { credentials, people, sessions, verifications } from '../../db/people-schema.ts'
import { recordForPerson } from '../audit/record-for-person.ts'
import { PASSWORD_PROVIDER } from './credentials.ts'

/** The person who changes how they sign in. */
export interface Changer {
  personId: string
  email: string
  /** The session of the change, which goes on. */
  sessionId: string
  remoteAddress: string | undefined
}

/** Changes a password. Every other session, and each sign-in that waits for its second step, ends with the old one. */
export async function changePassword(db: Database, changer: Changer, hash: string): Promise<void> {
  const { sessionId: _, ...person } = changer
  await db.transaction(async (tx) => {
    const isIt = and(eq(credentials.userId, person.personId), eq(credentials.providerId, PASSWORD_PROVIDER))
    await tx.update(credentials).set({ password: hash }).where(isIt)
    await endSignIns(tx, changer)
    await recordForPerson(tx, { ...person, action: 'person.change_password' })
  })
}

/** Turns the second factor on or off. Ends what a change of the password ends. */
export async function changeSecondFactor(db: Database, changer: Changer, isOn: boolean): Promise<void> {
  const { sessionId: _, ...person } = changer
  await db.transaction(async (tx) => {
    await tx.update(people).set({ twoFactorEnabled: isOn }).where(eq(people.id, person.personId))
    await endSignIns(tx, changer)
    const change = { before: { on: !isOn }, after: { on: isOn } }
    await recordForPerson(tx, { ...person, action: 'person.second_factor', ...change })
  })
}

/** Ends the sessions of a person, but for the one of the change, and each sign-in that waits for its second step. */
export async function endSignIns(
  tx: Transaction,
  { personId, sessionId }: Pick<Changer, 'personId'> & { sessionId?: string },
) {
  const isOther = sessionId === undefined ? undefined : ne(sessions.id, sessionId)
  await tx.delete(sessions).where(and(eq(sessions.userId, personId), isOther))
  // better-auth stores the person's id as the value of what it remembers between two requests.
  await tx.delete(verifications).where(eq(verifications.value, personId))
}

/**
 * Sets the password of a person who opened the link of a mail. Every session ends. The link proves the address: an
 * identity that was linked before the first proof may be that of another person, and is unlinked.
 */
export async function resetPassword(
  tx: Transaction,
  { personId, email, remoteAddress }: Omit<Changer, 'sessionId'>,
  hash: string,
): Promise<void> {
  const ofPerson = eq(credentials.userId, personId)
  const [proven] = await tx
    .update(people)
    .set({ emailVerified: true })
    .where(and(eq(people.id, personId), eq(people.emailVerified, false)))
    .returning({ id: people.id })
  if (proven) await tx.delete(credentials).where(and(ofPerson, ne(credentials.providerId, PASSWORD_PROVIDER)))
  await tx
    .update(credentials)
    .set({ password: hash })
    .where(and(ofPerson, eq(credentials.providerId, PASSWORD_PROVIDER)))
  await endSignIns(tx, { personId })
  await recordForPerson(tx, { personId, email, remoteAddress, action: 'person.reset_password' })
}
