import { createServiceImplSpec, type ServiceImplSpec } from '@connectrpc/connect'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { type PersonServiceParts, personService } from './person.ts'

export type AdminParts = PersonServiceParts

/** The dashboard's own services. Those of `openServices` need no session. */
export function adminServices(parts: AdminParts): Record<'services' | 'openServices', ServiceImplSpec[]> {
  return {
    services: [createServiceImplSpec<typeof PersonService>(PersonService, personService(parts))],
    openServices: [],
  }
}
