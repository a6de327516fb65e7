import { useMutation } from '@connectrpc/connect-query'
import { PeopleService, type Person } from '../../../gen/verdict/admin/v1/people_pb.ts'
import { useAccount } from '../../account/account.ts'
import { NameDialog } from '../../feedback/name-dialog.tsx'
import { useRefresh } from '../../refresh.ts'

export function RemovePersonDialog({ person, onClose }: { person: Person; onClose(): void }) {
  const { membership } = useAccount()
  const refresh = useRefresh()
  const remove = useMutation(PeopleService.method.removePerson, {
    async onSuccess() {
      await refresh(PeopleService.method.listPeople)
      onClose()
    },
  })
  return (
    <NameDialog
      opened
      title="Remove person"
      name={person.email}
      verb="Remove person"
      pending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ personId: person.personId })}
      onClose={onClose}
    >
      <bdi>{person.name}</bdi> can no longer open {membership.name}. Keys that they created keep working: revoke them
      under API keys.
    </NameDialog>
  )
}
