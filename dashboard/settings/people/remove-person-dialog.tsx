import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Checkbox, Stack } from '@mantine/core'
import { useState } from 'react'
import { type ApiKey, KeyService } from '../../../gen/verdict/admin/v1/keys_pb.ts'
import { PeopleService, type Person } from '../../../gen/verdict/admin/v1/people_pb.ts'
import { useAccount } from '../../account/account.ts'
import { ErrorState } from '../../feedback/error-state.tsx'
import { LoadingBlock } from '../../feedback/loading.tsx'
import { NameDialog } from '../../feedback/name-dialog.tsx'
import { useRefresh } from '../../refresh.ts'
import { Ago } from '../../time/ago.tsx'
import { isValid, KeyKindCell } from '../keys/key-cells.tsx'
import styles from '../settings.module.css'

export function RemovePersonDialog({ person, onClose }: { person: Person; onClose(): void }) {
  const { membership } = useAccount()
  const [revokeKeys, setRevokeKeys] = useState(false)
  const list = useQuery(KeyService.method.listKeys)
  const keys = list.data?.keys.filter((key) => key.createdBy === person.personId && isValid(key))
  const refresh = useRefresh()
  const remove = useMutation(PeopleService.method.removePerson, {
    async onSuccess() {
      await refresh(PeopleService.method.listPeople, KeyService.method.listKeys)
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
      onConfirm={() => remove.mutate({ personId: person.personId, revokeKeys })}
      onClose={onClose}
    >
      <Stack gap="md">
        <p>
          <bdi>{person.name}</bdi> can no longer open {membership.name}. The invitations that they made no longer work.
        </p>
        {keys && keys.length > 0 && <KeysOfPerson keys={keys} revoke={revokeKeys} onRevoke={setRevokeKeys} />}
        {!keys &&
          (list.error ? (
            <ErrorState error={list.error} retry={() => void list.refetch()} />
          ) : (
            <LoadingBlock height={60} />
          ))}
      </Stack>
    </NameDialog>
  )
}

interface KeysProps {
  keys: ApiKey[]
  revoke: boolean
  onRevoke(revoke: boolean): void
}

/** The keys that the person created, and the choice to revoke them. */
function KeysOfPerson({ keys, revoke, onRevoke }: KeysProps) {
  return (
    <div>
      <p>They created these keys, and may have kept a copy:</p>
      <ul className={styles.keys}>
        {keys.map((key) => (
          <li key={key.keyId}>
            <bdi>{key.name}</bdi> <KeyKindCell test={key.test} /> <code>{key.hint}…</code>,{' '}
            {key.lastUsedAt ? (
              <>
                last used <Ago at={key.lastUsedAt} />
              </>
            ) : (
              'never used'
            )}
          </li>
        ))}
      </ul>
      <Checkbox
        label={keys.length === 1 ? 'Revoke this key' : `Revoke these ${keys.length} keys`}
        description="Calls with a revoked key fail within 5 seconds. A key that is not revoked keeps working."
        checked={revoke}
        onChange={(event) => onRevoke(event.currentTarget.checked)}
      />
    </div>
  )
}
