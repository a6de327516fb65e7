import { createHash, randomBytes } from 'node:crypto'
import type { DatabaseClock } from '../../db/clock.ts'
import type { Database, Transaction } from '../../db/connect.ts'
import { and, desc, eq, gt, inArray, isNull } from '../../db/drizzle.ts'
import { newId } from '../../db/ids.ts'
import { invitations, notices } from '../../db/people-schema.ts'
import { one } from '../../db/statement.ts'
import { changeAs, type Requester } from '../audit/change-as.ts'
import { type Author, record } from '../audit/record-change.ts'
import type { Role } from './access.ts'
import { checkInvitations } from './invitation-limits.ts'
import type { LinkTokens } from './mail-links.ts'
import { listMembers } from './members.ts'

export type Invitation = typeof invitations.$inferSelect

const DAY_MS = 86_400_000
const INVITATION_DAYS = 7
const SET_UP_DAYS = 1

export interface Invitee {
  /** As `personEmail` returns it. */
  email: string
  role: Role
  /** Whether the person also gets a mail with its own link, as long as the account's invitations are mailed. */
  isMailed: boolean
}

/** An invitation with the secret of its link. Only the secret's hash is stored. */
export interface Invited {
  invitation: Invitation
  token: string
}

export interface MailedOrNot extends Invited {
  /** Whether a mail is on its way. */
  isMailed: boolean
  /** Whether none is because bounces or a complaint have ended the mailing of this account for the day. */
  isMailingEnded: boolean
}

/**
 * Invites a person into the author's account for seven days. An earlier invitation of the same address into it ends.
 * Returns undefined for a person who already belongs to the account. Throws `rate_limit_exceeded` over the limits of
 * invitations by people.
 */
export async function invite(
  db: Database,
  clock: DatabaseClock,
  requester: Requester,
  { email, role, isMailed }: Invitee,
): Promise<MailedOrNot | undefined> {
  const { accountId, actor } = requester
  if ((await listMembers(db, accountId)).some((member) => member.email === email)) return undefined
  const createdBy = actor.kind === 'person' ? actor.id : null
  return changeAs(db, requester, async (tx, author) => {
    await record(tx, { ...author, action: 'person.invite', target: email, after: { role } })
    await end(tx, clock, and(eq(invitations.accountId, accountId), eq(invitations.email, email)))
    const { mayMail } = createdBy === null ? { mayMail: true } : await checkInvitations(tx, clock, accountId)
    const invited = await store(tx, clock, { accountId, email, role, createdBy }, INVITATION_DAYS)
    if (isMailed && mayMail) await mail(tx, clock, invited.invitation)
    return { ...invited, isMailed: isMailed && mayMail, isMailingEnded: isMailed && !mayMail }
  })
}

/** Creates the link by which its holder becomes an owner of every account. An earlier one ends. */
export async function inviteFirstPerson(tx: Transaction, clock: DatabaseClock): Promise<Invited> {
  await end(tx, clock, isNull(invitations.accountId))
  return store(tx, clock, { accountId: null, email: null, role: 'owner', createdBy: null }, SET_UP_DAYS)
}

export interface FoundInvitation extends Invitation {
  /** Whether the link is that of the mail: its holder reads mail to the address. */
  isProof: boolean
}

interface FindParts {
  db: Database
  clock: DatabaseClock
  /** The links of mails. */
  invitationLinks: LinkTokens
}

/** Finds the invitation of a link that still works: the one that was shown, or the one that was mailed. */
export async function findInvitation(
  { db, clock, invitationLinks }: FindParts,
  token: string,
): Promise<FoundInvitation | undefined> {
  const mailedId = invitationLinks.read(token)
  const isIt = mailedId === undefined ? eq(invitations.tokenHash, hashOf(token)) : eq(invitations.id, mailedId)
  const [row] = await db
    .select()
    .from(invitations)
    .where(and(isIt, isWaiting(clock)))
  return row && { ...row, isProof: mailedId !== undefined }
}

/** Leaves a mail with its own link: see server/notices. */
async function mail(tx: Transaction, clock: DatabaseClock, { id, accountId }: Invitation): Promise<void> {
  const now = new Date(clock.now())
  const notice = { kind: 'invitation', channel: 'mail', accountId, subjectId: id, dueAt: now } as const
  await tx.insert(notices).values({ id: newId(now.getTime()), ...notice })
}

export type InvitationMail = Pick<typeof notices.$inferSelect, 'state' | 'outcome'>

/** Reads how the mails of invitations went, by the id of the invitation. */
export async function mailsOf(db: Database, ids: readonly string[]): Promise<Map<string | null, InvitationMail>> {
  const rows = await db
    .select({ id: notices.subjectId, state: notices.state, outcome: notices.outcome })
    .from(notices)
    .where(and(eq(notices.kind, 'invitation'), inArray(notices.subjectId, [...ids])))
  return new Map(rows.map(({ id, ...mail }) => [id, mail]))
}

/** Lists the invitations into an account that wait, the newest first. */
export async function listInvitations(db: Database, clock: DatabaseClock, accountId: string): Promise<Invitation[]> {
  const isOfAccount = and(eq(invitations.accountId, accountId), isWaiting(clock))
  return db.select().from(invitations).where(isOfAccount).orderBy(desc(invitations.id))
}

/** Finds the invitations to an address that wait, into whatever account. */
export async function invitationsTo(db: Database, clock: DatabaseClock, email: string): Promise<Invitation[]> {
  return db
    .select()
    .from(invitations)
    .where(and(eq(invitations.email, email), isWaiting(clock)))
}

/** Ends a waiting invitation, so that its link no longer works. Returns it, or undefined when it waits no more. */
export async function endInvitation(
  tx: Transaction,
  clock: DatabaseClock,
  { id, accountId }: Pick<Invitation, 'id' | 'accountId'>,
): Promise<Invitation | undefined> {
  const account = accountId === null ? isNull(invitations.accountId) : eq(invitations.accountId, accountId)
  const [ended] = await end(tx, clock, and(eq(invitations.id, id), account))
  return ended
}

/**
 * Ends the waiting invitations that a person made into the author's account. With one of them they could come back, or
 * become an owner again.
 */
export async function endInvitationsOf(
  tx: Transaction,
  clock: DatabaseClock,
  author: Author,
  personId: string,
): Promise<void> {
  const isTheirs = and(eq(invitations.accountId, author.accountId), eq(invitations.createdBy, personId))
  for (const { email, role } of await end(tx, clock, isTheirs)) {
    await record(tx, { ...author, action: 'person.withdraw_invitation', target: email!, before: { role } })
  }
}

/** The link for the invited person: one to give to them, or one to mail. */
export function linkOf(publicUrl: string, { token }: Pick<Invited, 'token'>): string {
  return `${publicUrl}/dashboard/invitation/${token}`
}

const isWaiting = (clock: DatabaseClock) =>
  and(isNull(invitations.endedAt), gt(invitations.expiresAt, new Date(clock.now())))

async function end(tx: Transaction, clock: DatabaseClock, which: ReturnType<typeof and>): Promise<Invitation[]> {
  return tx
    .update(invitations)
    .set({ endedAt: new Date(clock.now()) })
    .where(and(which, isWaiting(clock)))
    .returning()
}

async function store(
  tx: Transaction,
  clock: DatabaseClock,
  invitation: Pick<Invitation, 'accountId' | 'email' | 'role' | 'createdBy'>,
  days: number,
): Promise<Invited> {
  const now = clock.now()
  const token = randomBytes(32).toString('base64url')
  const expiresAt = new Date(now + days * DAY_MS)
  const row = { ...invitation, id: newId(now), tokenHash: hashOf(token), createdAt: new Date(now), expiresAt }
  return { invitation: one(await tx.insert(invitations).values(row).returning()), token }
}

/** SHA-256. A token has 256 random bits, so it needs no slower hash. */
const hashOf = (token: string) => createHash('sha256').update(token).digest()
