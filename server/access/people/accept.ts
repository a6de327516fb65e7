import { nameFault } from '../../../net/clean-text.ts'
import type { DatabaseClock } from '../../db/clock.ts'
import type { Database, Transaction } from '../../db/connect.ts'
import { and, eq } from '../../db/drizzle.ts'
import { people } from '../../db/people-schema.ts'
import { fail, failFields } from '../../errors.ts'
import { recordForPerson } from '../audit/record-for-person.ts'
import type { CredentialAttempts } from './credential-attempts.ts'
import { endSignIns } from './credential-changes.ts'
import { isPasswordOf } from './credentials.ts'
import { personEmail, readPersonEmail } from './email.ts'
import type { NoteFailedSignIn } from './failed-sign-ins.ts'
import { endInvitation, findInvitation, type Invitation } from './invitations.ts'
import { createPerson, findPerson, join } from './join.ts'
import type { LinkTokens } from './mail-links.ts'
import { hashPassword, PASSWORD } from './password.ts'

/** Characters of the name of a person or an account. */
export const NAME_CHARACTERS = 100

export interface Acceptance {
  token: string
  email?: string
  /** Absent to join as the person who exists. */
  name?: string
  password: string
  /** Whether a new person takes the address from one who has never proven it. Only by the link of a mail. */
  replace?: boolean
  remoteAddress: string
  /** The person whose session the caller has. */
  signedInAs?: string
}

interface AcceptParts {
  db: Database
  clock: DatabaseClock
  attempts: CredentialAttempts
  noteFailedSignIn: NoteFailedSignIn
  invitationLinks: LinkTokens
}

/**
 * Accepts an invitation: creates the person, or adds the account to the person with this address whose password is
 * right. Returns the address to sign in with. Throws `not_found`, `own_invitation`, `wrong_password`, `wrong_state`,
 * `invalid_payload`, `invalid_address` and `rate_limit_exceeded`. A link works once, also when two accept it at the
 * same moment. Without a name, only the right password tells whether the address has a person. The link of a mail
 * proves the address.
 */
export async function acceptInvitation(parts: AcceptParts, acceptance: Acceptance): Promise<string> {
  const { db, clock } = parts
  const invitation = await findInvitation(parts, acceptance.token)
  if (!invitation) throw noInvitation()
  const { accountId, role, isProof } = invitation
  const email = emailOf(invitation, acceptance.email)
  refuseUnfit(acceptance)
  if (invitation.createdBy !== null && invitation.createdBy === acceptance.signedInAs) throw ownInvitation()
  // Again when another invitation of the same address has created the person meanwhile.
  for (;;) {
    const personId = await findPerson(db, email)
    const replaces = personId !== undefined && isProof && acceptance.replace === true
    const isNew = (personId === undefined || replaces) && acceptance.name !== undefined
    const newPerson = isNew ? await newPersonOf(acceptance, email) : undefined
    if (!isNew) await checkPassword(parts, acceptance, personId, email)
    const isDone = await db.transaction(async (tx) => {
      if (newPerson && replaces) await takeAddress(tx, personId, email, acceptance.remoteAddress)
      const id = newPerson ? await createPerson(tx, clock, newPerson) : personId
      if (!id) return false
      if (isProof) await tx.update(people).set({ emailVerified: true }).where(eq(people.id, id))
      await join(tx, { personId: id, email, accountId, role, remoteAddress: acceptance.remoteAddress })
      if (!(await endInvitation(tx, clock, invitation))) throw noInvitation()
      return true
    })
    if (isDone) return email
  }
}

/**
 * Takes an address from a person who has never proven it: the sessions end, and nothing of the person passes on. Throws
 * `wrong_state` for an address that was proven.
 */
async function takeAddress(tx: Transaction, personId: string, email: string, remoteAddress: string): Promise<void> {
  const lost = `${personId}@unproven.invalid`
  const isUnproven = and(eq(people.id, personId), eq(people.emailVerified, false))
  const taken = await tx.update(people).set({ email: lost }).where(isUnproven).returning({ id: people.id })
  if (taken.length === 0) throw fail('wrong_state', PROVEN)
  await endSignIns(tx, { personId })
  const actor = { kind: 'stranger' } as const
  await recordForPerson(tx, {
    personId,
    email,
    action: 'person.lose_address',
    after: { email: lost },
    actor,
    remoteAddress,
  })
}

const PROVEN = 'The sign-in with this address is yours. Enter its password, or set a new one: "Forgot password?"'

export const noInvitation = () =>
  fail('not_found', 'This link does not work: it was used or withdrawn, or it has expired. Ask for a new one.')

export const ownInvitation = () =>
  fail('own_invitation', 'You made this invitation, so you cannot accept it. Give its link to the invited person.')

function emailOf(invitation: Invitation, given: string | undefined): string {
  if (invitation.email !== null) {
    if (given === undefined || personEmail(given) === invitation.email) return invitation.email
    throw failFields('invalid_payload', [{ field: 'email', message: 'is given by the invitation' }])
  }
  return readPersonEmail(given ?? '')
}

/** Refuses a name or a password that no person can have, whether or not the person exists. */
function refuseUnfit({ name, password }: Acceptance): void {
  const faults = [...(name === undefined ? [] : nameFaults(name.trim())), ...passwordFaults(password)]
  if (faults.length > 0) throw failFields('invalid_payload', faults)
}

async function newPersonOf({ name = '', password, remoteAddress }: Acceptance, email: string) {
  return { name: name.trim(), email, passwordHash: await hashPassword(password, remoteAddress) }
}

function nameFaults(name: string) {
  const message = nameFault(name, NAME_CHARACTERS)
  return message ? [{ field: 'name', message }] : []
}

/** What is wrong with a new password. */
export function passwordFaults(password: string) {
  const isFit = password.length >= PASSWORD.min && password.length <= PASSWORD.max
  return isFit ? [] : [{ field: 'password', message: `must have ${PASSWORD.min} to ${PASSWORD.max} characters` }]
}

async function checkPassword(
  { db, attempts, noteFailedSignIn }: AcceptParts,
  { password, remoteAddress }: Acceptance,
  personId: string | undefined,
  email: string,
): Promise<void> {
  const check = () => isPasswordOf(db, personId, password, remoteAddress)
  if (await attempts.run({ remoteAddress, email }, check, (isRight) => !isRight)) return
  noteFailedSignIn({ as: { email }, remoteAddress })
  throw fail('wrong_password', 'This is not the password of a person with this address. A new person needs a name.')
}
