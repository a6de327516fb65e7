import { createServiceImplSpec, type ServiceImplSpec } from '@connectrpc/connect'
import { InvitationService, PeopleService } from '../../gen/verdict/admin/v1/people_pb.ts'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { type InvitationServiceParts, invitationService } from './invitations.ts'
import { type PeopleServiceParts, peopleService } from './people.ts'
import { type PersonServiceParts, personService } from './person.ts'

export type AdminParts = PersonServiceParts & PeopleServiceParts & InvitationServiceParts

/** The dashboard's own services. Those of `openServices` need no session. */
export function adminServices(parts: AdminParts): Record<'services' | 'openServices', ServiceImplSpec[]> {
  return {
    services: [
      createServiceImplSpec<typeof PersonService>(PersonService, personService(parts)),
      createServiceImplSpec<typeof PeopleService>(PeopleService, peopleService(parts)),
    ],
    openServices: [createServiceImplSpec<typeof InvitationService>(InvitationService, invitationService(parts))],
  }
}
