import { createServiceImplSpec, type ServiceImplSpec } from '@connectrpc/connect'
import { AuditService } from '../../gen/verdict/admin/v1/audit_pb.ts'
import { ImportService } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { InboxService } from '../../gen/verdict/admin/v1/inbox_pb.ts'
import { KeyService } from '../../gen/verdict/admin/v1/keys_pb.ts'
import { OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { InvitationService, PeopleService } from '../../gen/verdict/admin/v1/people_pb.ts'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { ReplayService } from '../../gen/verdict/admin/v1/replays_pb.ts'
import { auditService } from './audit.ts'
import { type ImportServiceParts, importService } from './imports.ts'
import { inboxService } from './inbox.ts'
import type { InboxMessages } from './inbox-messages.ts'
import { type InvitationServiceParts, invitationService } from './invitations.ts'
import { keyService } from './keys.ts'
import { type OverviewServiceParts, overviewService } from './overview.ts'
import { type PeopleServiceParts, peopleService } from './people.ts'
import { type PersonServiceParts, personService } from './person.ts'
import { type ReplayServiceParts, replayService } from './replays.ts'

export interface AdminParts
  extends Omit<PersonServiceParts, 'hasInbox'>,
    PeopleServiceParts,
    InvitationServiceParts,
    OverviewServiceParts,
    ReplayServiceParts,
    ImportServiceParts {
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
      createServiceImplSpec<typeof KeyService>(KeyService, keyService(parts)),
      createServiceImplSpec<typeof OverviewService>(OverviewService, overviewService(parts)),
      createServiceImplSpec<typeof AuditService>(AuditService, auditService(parts)),
      createServiceImplSpec<typeof ReplayService>(ReplayService, replayService(parts)),
      createServiceImplSpec<typeof ImportService>(ImportService, importService(parts)),
      ...(inbox ? [createServiceImplSpec<typeof InboxService>(InboxService, inboxService(inbox))] : []),
    ],
    openServices: [createServiceImplSpec<typeof InvitationService>(InvitationService, invitationService(parts))],
  }
}
