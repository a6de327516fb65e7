import { useMutation } from '@connectrpc/connect-query'
import { NativeSelect } from '@mantine/core'
import type { Role } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { PeopleService, type Person } from '../../../gen/verdict/admin/v1/people_pb.ts'
import { PersonService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { ROLE_SENTENCES, ROLE_WORDS } from '../../account/account.ts'
import { wordsFor } from '../../feedback/call-error.ts'
import { useRefresh } from '../../refresh.ts'

const ROLE_CHOICES = ROLE_SENTENCES.map(([role]) => ({ value: String(role), label: ROLE_WORDS[role]! }))

/** The role of a person, changed by an owner. */
export function RoleSelect({ person }: { person: Person }) {
  const refresh = useRefresh()
  const change = useMutation(PeopleService.method.changeRole, {
    onSuccess: () => Promise.all([refresh(PeopleService.method.listPeople), refresh(PersonService.method.getPerson)]),
  })
  return (
    <NativeSelect
      aria-label={`Role of ${person.name}`}
      size="xs"
      w={120}
      data={ROLE_CHOICES}
      value={String(change.isPending ? change.variables.role : person.role)}
      disabled={change.isPending}
      onChange={(event) =>
        change.mutate({ personId: person.personId, role: Number(event.currentTarget.value) as Role })
      }
      error={change.error && wordsFor(change.error)}
    />
  )
}
