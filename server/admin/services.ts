import { createServiceImplSpec, type ServiceImplSpec } from '@connectrpc/connect'
import { InboxService } from '../../gen/verdict/admin/v1/inbox_pb.ts'
import { InvitationService, PeopleService } from '../../gen/verdict/admin/v1/people_pb.ts'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { inboxService } from './inbox.ts'
import type { InboxMessages } from './inbox-messages.ts'
import { type InvitationServiceParts, invitationService } from './invitations.ts'
import { type PeopleServiceParts, peopleService } from './people.ts'
import { type PersonServiceParts, personService } from './person.ts'

export interface AdminParts extends Omit<PersonServiceParts, 'hasInbox'>, PeopleServiceParts, InvitationServiceParts {
  /** undefined when the simulator keeps nothing. */
  inbox: InboxMessages | undefined
}

/** The dashboard's own services. Those of `openServices` need no session. */
export function adminServices(parts: AdminParts): Record<'services' | 'openServices', ServiceImplSpec[]> {
  const { inbox } = parts
  const person = personService({ ...parts, hasInbox: inbox !== undefined })
  return {
    services: [
      createServiceImplSpec<typeof PersonService>(PersonService, person),
      createServiceImplSpec<typeof PeopleService>(PeopleService, peopleService(parts)),
      ...(inbox ? [createServiceImplSpec<typeof InboxService>(InboxService, inboxService(inbox))] : []),
    ],
    openServices: [createServiceImplSpec<typeof InvitationService>(InvitationService, invitationService(parts))],
  }
}
