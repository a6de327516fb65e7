import { nameFault } from '../../../../net/clean-text.ts'
import type { DatabaseClock } from '../../../db/clock.ts'
import type { Database } from '../../../db/connect.ts'
import { fail } from '../../../errors.ts'
import { recordForPerson } from '../../audit/record-for-person.ts'
import { NAME_CHARACTERS, noInvitation, ownInvitation } from '../accept.ts'
import { personEmail } from '../email.ts'
import { endInvitation, findInvitation, type Invitation, invitationsTo } from '../invitations.ts'
import { createPerson, join } from '../join.ts'
import type { LinkTokens } from '../mail-links.ts'
import { type PersonOfIdentity, storeIdentity } from './identities.ts'
import type { Identity } from './issuer.ts'

interface OidcAcceptance {
  identity: Identity
  /** For people. */
  host: string
  /** The person whom the identity is linked to; undefined for a new one. */
  person: PersonOfIdentity | undefined
  /** The token of one invitation. Without it a new person accepts all of their address. */
  token: string | undefined
  remoteAddress: string
}

/**
 * Accepts invitations to the very address that the issuer has verified, with the roles that they give. Creates the
 * person of a new identity. Never links the identity to a person who has the address: they link it themselves. Throws
 * `not_found`, `own_invitation`, `not_invited` and `wrong_state`, and then nothing is created.
 */
export async function acceptInvitations(
  parts: { db: Database; clock: DatabaseClock; invitationLinks: LinkTokens },
  acceptance: OidcAcceptance,
): Promise<PersonOfIdentity> {
  const { db, clock } = parts
  const { identity, host, token, remoteAddress } = acceptance
  const { email, name } = await verifiedProfile(acceptance)
  const found = token === undefined ? await invitationsTo(db, clock, email) : [await findInvitation(parts, token)]
  const invitations = found.map((invitation) => {
    if (!invitation) throw noInvitation()
    return fitting(invitation, email, acceptance)
  })
  if (invitations.length === 0) throw notInvited(host, email)
  return db.transaction(async (tx) => {
    let { person } = acceptance
    if (!person) {
      const personId = await createPerson(tx, clock, {
        name: name ?? email.replace(/@.*/, ''),
        email,
        emailVerified: true,
      })
      if (personId === undefined) throw addressTaken(host, email)
      if (!(await storeIdentity(tx, clock, identity, personId))) throw twoAtOnce()
      person = { personId, email, twoFactorEnabled: false }
    }
    const { personId } = person
    for (const invitation of invitations) {
      const { accountId, role } = invitation
      await join(tx, { personId, email: person.email, accountId, role, remoteAddress })
      if (!(await endInvitation(tx, clock, invitation))) throw noInvitation()
    }
    if (!acceptance.person) {
      const after = { issuer: identity.issuer }
      await recordForPerson(tx, { personId, email, remoteAddress, action: 'person.oidc_link', after })
    }
    return person
  })
}

async function verifiedProfile({
  identity,
  host,
}: OidcAcceptance): Promise<{ email: string; name: string | undefined }> {
  const { email: given = '', isEmailVerified, name: ownName = '' } = await identity.profile()
  const email = personEmail(given)
  if (email === undefined || !isEmailVerified) {
    throw fail('not_invited', `${host} did not confirm your email address, so no invitation can be found.`)
  }
  const name = ownName.trim()
  return { email, name: nameFault(name, NAME_CHARACTERS) === undefined ? name : undefined }
}

function fitting(invitation: Invitation, email: string, { host, person }: OidcAcceptance): Invitation {
  if (invitation.email === null) {
    throw fail('not_invited', 'The set-up link needs a password. You can link your identity when you are signed in.')
  }
  if (invitation.email !== email) {
    throw fail('not_invited', `This invitation is for another address than the one that ${host} confirms: ${email}.`)
  }
  if (person && invitation.createdBy === person.personId) throw ownInvitation()
  return invitation
}

const notInvited = (host: string, email: string) =>
  fail(
    'not_invited',
    `${email} has no sign-in by ${host}, and no invitation. Ask an owner of the account to invite this address. If you ` +
      'have a password, sign in with it and link your identity under Settings, Profile.',
  )

const addressTaken = (host: string, email: string) =>
  fail(
    'wrong_state',
    `${email} has a sign-in with a password. Sign in with it, link ${host} under Settings, Profile, and open the ` +
      'invitation again. If that sign-in is not yours, ask the operator to remove it.',
  )

const twoAtOnce = () => fail('wrong_state', 'Another sign-in was made at the same moment. Try again.')
