import type { DatabaseClock } from '../../db/clock.ts'
import type { Database } from '../../db/connect.ts'
import { and, eq, gt, isNull } from '../../db/drizzle.ts'
import { newId } from '../../db/ids.ts'
import { notices, people } from '../../db/people-schema.ts'
import { fail, failFields } from '../../errors.ts'
import { passwordFaults } from './accept.ts'
import type { CredentialAttempts } from './credential-attempts.ts'
import { resetPassword } from './credential-changes.ts'
import { readPersonEmail } from './email.ts'
import type { LinkTokens } from './mail-links.ts'
import { hashPassword } from './password.ts'

// A person who forgot the password asks for a mail, whose link sets a new one. The request stores a notice for every
// address; whether the address has a person is looked up when the mail is made. So no response, and no time that a
// response takes, tells a stranger who has a sign-in.

const HOUR_MS = 3_600_000

interface PasswordResetParts {
  db: Database
  clock: DatabaseClock
  attempts: CredentialAttempts
  links: LinkTokens
}

/** Throws `invalid_address` and `rate_limit_exceeded`. Every request counts as an attempt to sign in that failed. */
export async function requestReset(
  { db, clock, attempts }: Omit<PasswordResetParts, 'links'>,
  { email: text, remoteAddress }: { email: string; remoteAddress: string },
): Promise<void> {
  const email = readPersonEmail(text)
  const now = new Date(clock.now())
  const notice = { id: newId(now.getTime()), kind: 'password_reset', channel: 'mail', email, dueAt: now } as const
  await attempts.run(
    { remoteAddress, email },
    () => db.insert(notices).values(notice),
    () => true,
  )
}

interface Reset {
  id: string
  personId: string
  email: string
  expiresAtMs: number
}

/** Finds the reset of a link that still works: it was not used, and no other one of the person was. */
export async function findReset(
  { db, clock, links }: Omit<PasswordResetParts, 'attempts'>,
  token: string,
): Promise<Reset | undefined> {
  const id = links.read(token)
  if (id === undefined) return undefined
  const works = and(isNull(notices.usedAt), gt(notices.createdAt, new Date(clock.now() - HOUR_MS)))
  const [row] = await db
    .select({ personId: people.id, email: people.email, createdAt: notices.createdAt })
    .from(notices)
    .innerJoin(people, eq(people.id, notices.personId))
    .where(and(eq(notices.id, id), eq(notices.kind, 'password_reset'), works))
  return row && { id, personId: row.personId, email: row.email, expiresAtMs: row.createdAt.getTime() + HOUR_MS }
}

/**
 * Sets a new password by a link. All sessions of the person end; the second factor stays. Returns the address to sign
 * in with. Throws `not_found`, `invalid_payload` and `rate_limit_exceeded`. Of two calls with one link, one succeeds.
 */
export async function completeReset(
  parts: PasswordResetParts,
  { token, password, remoteAddress }: { token: string; password: string; remoteAddress: string },
): Promise<string> {
  const { db, clock, attempts } = parts
  const reset = await attempts.run(
    { remoteAddress },
    () => findReset(parts, token),
    (found) => found === undefined,
  )
  if (!reset) throw noReset()
  const faults = passwordFaults(password)
  if (faults.length > 0) throw failFields('invalid_payload', faults)
  const hash = await hashPassword(password, remoteAddress)
  await db.transaction(async (tx) => {
    const isTheirs = and(eq(notices.personId, reset.personId), eq(notices.kind, 'password_reset'))
    const used = await tx
      .update(notices)
      .set({ usedAt: new Date(clock.now()) })
      .where(and(isTheirs, isNull(notices.usedAt)))
      .returning({ id: notices.id })
    if (!used.some(({ id }) => id === reset.id)) throw noReset()
    await resetPassword(tx, { ...reset, remoteAddress }, hash)
  })
  return reset.email
}

export const noReset = () =>
  fail('not_found', 'This link does not work: it was used, it is older than an hour, or a newer one was used.')
