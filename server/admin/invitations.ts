import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { InvitationService } from '../../gen/verdict/admin/v1/people_pb.ts'
import { acceptInvitation, noInvitation } from '../access/people/accept.ts'
import type { CredentialAttempts } from '../access/people/credential-attempts.ts'
import type { NoteFailedSignIn } from '../access/people/failed-sign-ins.ts'
import { findInvitation, type Invitation } from '../access/people/invitations.ts'
import { findPerson } from '../access/people/join.ts'
import type { LinkTokens } from '../access/people/mail-links.ts'
import { remoteAddressKey } from '../caller.ts'
import type { Database } from '../db/connect.ts'
import { asc, eq } from '../db/drizzle.ts'
import { accounts } from '../db/schema.ts'
import type { Backend } from '../services/backend.ts'
import { roleNames } from './role.ts'

export interface InvitationServiceParts extends Pick<Backend, 'db' | 'clock'> {
  attempts: CredentialAttempts
  noteFailedSignIn: NoteFailedSignIn
  /** The links of invitations that were mailed. */
  invitationLinks: LinkTokens
  /** The person whose session a Cookie header holds. */
  signedInAs(cookie: string | undefined): Promise<string | undefined>
}

export function createInvitationService(parts: InvitationServiceParts): ServiceImpl<typeof InvitationService> {
  const { db } = parts
  return {
    async getInvitation({ token }) {
      const invitation = await findInvitation(parts, token)
      if (!invitation) throw noInvitation()
      const { email, role, expiresAt, isProof } = invitation
      return {
        accountNames: await accountNames(db, invitation),
        email: email ?? undefined,
        role: roleNames.value(role),
        expiresAt: timestampFromDate(expiresAt),
        hasSignIn: isProof && email !== null && (await findPerson(db, email)) !== undefined,
      }
    },

    async acceptInvitation(request, { values, requestHeader }) {
      const signedInAs = await parts.signedInAs(requestHeader.get('cookie') ?? undefined)
      const remoteAddress = values.get(remoteAddressKey)
      return { email: await acceptInvitation(parts, { ...request, signedInAs, remoteAddress }) }
    },
  }
}

async function accountNames(db: Database, { accountId }: Invitation): Promise<string[]> {
  const which = accountId === null ? undefined : eq(accounts.id, accountId)
  const rows = await db.select({ name: accounts.name }).from(accounts).where(which).orderBy(asc(accounts.name))
  return rows.map(({ name }) => name)
}
