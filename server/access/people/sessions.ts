import type { DatabaseClock } from '../../db/clock.ts'
import type { Database, Transaction } from '../../db/connect.ts'
import { and, asc, desc, eq, gt, sql } from '../../db/drizzle.ts'
import { members, people, sessions } from '../../db/people-schema.ts'
import { accounts } from '../../db/schema.ts'
import { fail } from '../../errors.ts'
import type { Role } from './access.ts'
import { SESSION_DAYS } from './cookie.ts'

const DAY_MS = 86_400_000
const CONFIRMATION_MS = 10 * 60_000

/** A session that has not ended, with the person's role in one account. */
export interface LiveSession {
  sessionId: string
  personId: string
  email: string
  /** undefined when the person does not belong to the account, or none was asked for. */
  role: Role | undefined
  /** The tier of that account; null for the default one. */
  tier: string | null
  /** Unix milliseconds; in the past when the password has to be entered first. */
  confirmedUntilMs: number
  updatedAtMs: number
}

/**
 * Finds the session of a token; undefined when it has ended. The database is asked each time: an end, a removal and a
 * new role take effect at once, in every process.
 */
export async function findSession(
  db: Database | Transaction,
  clock: DatabaseClock,
  token: string,
  accountId: string | undefined,
): Promise<LiveSession | undefined> {
  const isMember = and(
    eq(members.personId, sessions.userId),
    accountId === undefined ? sql`false` : eq(members.accountId, accountId),
  )
  const [row] = await db
    .select({ session: sessions, email: people.email, role: members.role, tier: accounts.tier })
    .from(sessions)
    .innerJoin(people, eq(people.id, sessions.userId))
    .leftJoin(members, isMember)
    .leftJoin(accounts, eq(accounts.id, members.accountId))
    .where(and(eq(sessions.token, token), gt(sessions.expiresAt, new Date(clock.now()))))
  if (!row) return undefined
  const { id, userId, updatedAt } = row.session
  return {
    sessionId: id,
    personId: userId,
    email: row.email,
    role: row.role ?? undefined,
    tier: row.tier,
    confirmedUntilMs: confirmedUntilMs(row.session),
    updatedAtMs: updatedAt.getTime(),
  }
}

/** Locks a session, and its person's membership in an account, until the transaction ends: neither can end before. */
export async function lockSession(
  tx: Transaction,
  { sessionId, personId }: Pick<LiveSession, 'sessionId' | 'personId'>,
  accountId: string | undefined,
): Promise<void> {
  if (accountId !== undefined) {
    const isMember = and(eq(members.accountId, accountId), eq(members.personId, personId))
    await tx.select({ role: members.role }).from(members).where(isMember).for('share')
  }
  // An extension or a confirmation may change the session meanwhile.
  await tx.select({ id: sessions.id }).from(sessions).where(eq(sessions.id, sessionId)).for('key share')
}

/** Until when changes that need a fresh credential are allowed, Unix milliseconds. */
export function confirmedUntilMs({ confirmedAt }: { confirmedAt: Date | null }): number {
  return (confirmedAt?.getTime() ?? 0) + CONFIRMATION_MS
}

/** Extends a session that was extended over a day ago. Returns whether it did. */
export async function extendSession(
  db: Database,
  clock: DatabaseClock,
  { sessionId, updatedAtMs }: LiveSession,
): Promise<boolean> {
  const now = clock.now()
  if (now - updatedAtMs < DAY_MS) return false
  await db
    .update(sessions)
    .set({ expiresAt: new Date(now + SESSION_DAYS * DAY_MS), updatedAt: new Date(now) })
    .where(eq(sessions.id, sessionId))
  return true
}

/** Notes that the person entered a credential. Returns until when that counts, Unix milliseconds. */
export async function confirmSession(db: Database, clock: DatabaseClock, sessionId: string): Promise<number> {
  const confirmedAt = new Date(clock.now())
  await db.update(sessions).set({ confirmedAt }).where(eq(sessions.id, sessionId))
  return confirmedAt.getTime() + CONFIRMATION_MS
}

export const noSession = () =>
  fail('invalid_session', 'You are not signed in, or your session has ended. Sign in, and try again.')

export const confirmationRequired = () => fail('confirmation_required', 'Enter your password to go on.')

/** The most sessions of a person that are shown: a program may sign in each minute. */
const MOST_SHOWN = 100

/** Lists the sessions of a person that have not ended, the one used last first. */
export async function listSessions(db: Database, clock: DatabaseClock, personId: string) {
  return db
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, personId), gt(sessions.expiresAt, new Date(clock.now()))))
    .orderBy(desc(sessions.updatedAt), desc(sessions.id))
    .limit(MOST_SHOWN)
}

/** Locks all sessions of a person, so that two of them that end each other do not wait for each other. */
export async function lockSessions(tx: Transaction, personId: string): Promise<void> {
  const ofPerson = eq(sessions.userId, personId)
  await tx.select({ id: sessions.id }).from(sessions).where(ofPerson).orderBy(asc(sessions.id)).for('update')
}

/** Ends a session of a person. Returns whether there was one. */
export async function endSession(db: Database | Transaction, personId: string, sessionId: string): Promise<boolean> {
  const ended = await db
    .delete(sessions)
    .where(and(eq(sessions.userId, personId), eq(sessions.id, sessionId)))
    .returning({ id: sessions.id })
  return ended.length > 0
}
