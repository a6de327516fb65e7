import { createServiceImplSpec, type ServiceImplSpec } from '@connectrpc/connect'
import { AccountService } from '../../gen/verdict/admin/v1/account_pb.ts'
import { AuditService } from '../../gen/verdict/admin/v1/audit_pb.ts'
import { DomainService } from '../../gen/verdict/admin/v1/domains_pb.ts'
import { ImportService } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { InboxService } from '../../gen/verdict/admin/v1/inbox_pb.ts'
import { KeyService } from '../../gen/verdict/admin/v1/keys_pb.ts'
import { NotificationService } from '../../gen/verdict/admin/v1/notifications_pb.ts'
import { OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { InvitationService, PeopleService } from '../../gen/verdict/admin/v1/people_pb.ts'
import { PersonService, SignInService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { ReplayService } from '../../gen/verdict/admin/v1/replays_pb.ts'
import type { Backend } from '../services/backend.ts'
import { createAccountService } from './account.ts'
import { createAuditService } from './audit.ts'
import { createPausedDomainService } from './domains.ts'
import { createImportService } from './imports.ts'
import { createInboxService } from './inbox.ts'
import type { InboxMessages } from './inbox-messages.ts'
import { createInvitationService, type InvitationServiceParts } from './invitations.ts'
import { createKeyService } from './keys.ts'
import { createNotificationService, type NotificationServiceParts } from './notifications.ts'
import { createOverviewService } from './overview.ts'
import { createPeopleService, type PeopleServiceParts } from './people.ts'
import { createPersonService, type PersonServiceParts } from './person.ts'
import { createReplayService } from './replays.ts'
import { createSignInService } from './sign-in.ts'

interface AdminParts
  extends Backend,
    Omit<InvitationServiceParts, 'db' | 'clock'>,
    Pick<PersonServiceParts, 'issuer'>,
    Pick<PeopleServiceParts, 'onInvitation'>,
    Pick<NotificationServiceParts, 'webhooks'> {
  /** undefined when the simulator keeps nothing. */
  inbox: InboxMessages | undefined
  /** Is called with errors that did not fail a call. */
  report(error: unknown): void
}

/** The dashboard's own services. Those of `openServices` need no session. */
export function createAdminServices(parts: AdminParts): Record<'services' | 'openServices', ServiceImplSpec[]> {
  const { inbox } = parts
  const person = createPersonService({ ...parts, hasInbox: inbox !== undefined })
  return {
    services: [
      createServiceImplSpec<typeof PersonService>(PersonService, person),
      createServiceImplSpec<typeof AccountService>(AccountService, createAccountService(parts)),
      createServiceImplSpec<typeof PeopleService>(PeopleService, createPeopleService(parts)),
      createServiceImplSpec<typeof KeyService>(KeyService, createKeyService(parts)),
      createServiceImplSpec<typeof OverviewService>(OverviewService, createOverviewService(parts)),
      createServiceImplSpec<typeof NotificationService>(NotificationService, createNotificationService(parts)),
      createServiceImplSpec<typeof AuditService>(AuditService, createAuditService(parts)),
      createServiceImplSpec<typeof DomainService>(DomainService, createPausedDomainService(parts)),
      createServiceImplSpec<typeof ReplayService>(ReplayService, createReplayService(parts)),
      createServiceImplSpec<typeof ImportService>(ImportService, createImportService(parts)),
      ...(inbox ? [createServiceImplSpec<typeof InboxService>(InboxService, createInboxService(inbox))] : []),
    ],
    openServices: [
      createServiceImplSpec<typeof InvitationService>(InvitationService, createInvitationService(parts)),
      createServiceImplSpec<typeof SignInService>(SignInService, createSignInService(parts)),
    ],
  }
}
