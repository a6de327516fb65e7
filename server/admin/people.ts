import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { Role as ContractRole } from '../../gen/verdict/admin/v1/options_pb.ts'
import type { InvitePersonRequest, PeopleService } from '../../gen/verdict/admin/v1/people_pb.ts'
import { changeAs, type Requester } from '../access/audit/change-as.ts'
import { record } from '../access/audit/record-change.ts'
import { requesterOf } from '../access/audit/requester.ts'
import type { Role } from '../access/people/access.ts'
import { readPersonEmail } from '../access/people/email.ts'
import {
  endInvitation,
  type Invitation,
  type InvitationMail,
  invite,
  linkOf,
  listInvitations,
  mailsOf,
} from '../access/people/invitations.ts'
import { changeRole, removeMember } from '../access/people/member-changes.ts'
import { listMembers, type Member } from '../access/people/members.ts'
import { accountOf } from '../caller.ts'
import { parsePublicId, publicId } from '../db/ids.ts'
import { fail, failFields, reasonOf } from '../errors.ts'
import type { Backend } from '../services/backend.ts'
import { keyMessage } from './keys.ts'
import { noticeStateNames } from './notifications.ts'
import { roleNames } from './role.ts'

export interface PeopleServiceParts extends Pick<Backend, 'db' | 'clock' | 'publicUrl' | 'notifyFrom'> {
  /** Is called with each invitation that a person makes. */
  onInvitation?(result: InvitationResult, accountId: string): void
}

/** `link`: without NOTIFY_FROM. `mailing_ended`: by bounces or a complaint of this day. */
export type InvitationResult = 'mailed' | 'link' | 'mailing_ended' | 'refused'

export function createPeopleService(parts: PeopleServiceParts): ServiceImpl<typeof PeopleService> {
  const { db, clock } = parts
  return {
    async listPeople(_, { values }) {
      const accountId = accountOf({ values })
      const people = await listMembers(db, accountId)
      const invitations = await listInvitations(db, clock, accountId)
      const ids = invitations.map(({ id }) => id)
      const mails = await mailsOf(db, ids)
      return {
        people: people.map(personOfMember),
        invitations: invitations.map((one) => shownInvitation(one, mails.get(one.id))),
      }
    },
    invitePerson: (request, { values }) => invitePerson(parts, request, requesterOf(values)),
    async withdrawInvitation({ invitationId }, { values }) {
      const id = parsePublicId('inv', invitationId)
      await changeAs(db, requesterOf(values), async (tx, author) => {
        const ended = id && (await endInvitation(tx, clock, { id, accountId: author.accountId }))
        if (!ended) throw fail('not_found', 'This account has no such invitation. It may have been accepted.')
        const change = { target: ended.email!, before: { role: ended.role } }
        await record(tx, { ...author, action: 'person.withdraw_invitation', ...change })
      })
      return {}
    },
    async changeRole({ personId, role }, { values }) {
      const member = await changeRole({ db, clock }, requesterOf(values), readPersonId(personId), readRole(role))
      return { person: personOfMember(member) }
    },
    async removePerson({ personId, revokeKeys }, { values }) {
      const removal = { personId: readPersonId(personId), revokeKeys }
      const { keys } = await removeMember({ db, clock }, requesterOf(values), removal)
      return { keys: keys.map(keyMessage) }
    },
  }
}

async function invitePerson(parts: PeopleServiceParts, request: InvitePersonRequest, requester: Requester) {
  const { db, clock, publicUrl, notifyFrom, onInvitation } = parts
  const { accountId } = requester
  const role = readRole(request.role)
  const invitee = { email: readPersonEmail(request.email), role, isMailed: notifyFrom !== undefined }
  const invited = await invite(db, clock, requester, invitee).catch((error) => {
    if (reasonOf(error) === 'rate_limit_exceeded') onInvitation?.('refused', accountId)
    throw error
  })
  if (!invited) {
    throw failFields('invalid_payload', [{ field: 'email', message: 'belongs to a person of this account' }])
  }
  const { invitation, isMailed, isMailingEnded } = invited
  onInvitation?.(isMailingEnded ? 'mailing_ended' : isMailed ? 'mailed' : 'link', accountId)
  return { invitation: shownInvitation(invitation), url: linkOf(publicUrl(), invited), mailed: isMailed }
}

function readRole(role: ContractRole): Role {
  if (roleNames.has(role)) return roleNames.name(role) as Role
  throw failFields('invalid_payload', [{ field: 'role', message: 'must be reader, member or owner' }])
}

/** No person has the empty id. */
const readPersonId = (text: string) => parsePublicId('per', text) ?? ''

function personOfMember({ personId, name, email, role, secondFactor, joinedAt }: Member) {
  return {
    personId: publicId('per', personId),
    name,
    email,
    role: roleNames.value(role),
    secondFactor,
    joinedAt: timestampFromDate(joinedAt),
  }
}

function shownInvitation({ id, email, role, createdAt, expiresAt }: Invitation, mail?: InvitationMail) {
  return {
    invitationId: publicId('inv', id),
    email: email ?? '',
    role: roleNames.value(role),
    createdAt: timestampFromDate(createdAt),
    expiresAt: timestampFromDate(expiresAt),
    mail: mail && noticeStateNames.value(mail.state),
    mailOutcome: mail?.outcome ?? undefined,
  }
}
