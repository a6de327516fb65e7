import { useMutation } from '@connectrpc/connect-query'
import { type ApiKey, KeyService } from '../../../gen/verdict/admin/v1/keys_pb.ts'
import { NameDialog } from '../../feedback/name-dialog.tsx'
import { useRefresh } from '../../refresh.ts'
import { Ago } from '../../time/ago.tsx'

export function RevokeKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const refresh = useRefresh()
  const revoke = useMutation(KeyService.method.revokeKey, {
    async onSuccess() {
      await refresh(KeyService.method.listKeys)
      onClose()
    },
  })
  return (
    <NameDialog
      opened
      title="Revoke key"
      name={apiKey.name}
      verb="Revoke key"
      pending={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate({ keyId: apiKey.keyId })}
      onClose={onClose}
    >
      Calls with <code>{apiKey.hint}…</code> fail within 5 seconds. A revoked key cannot be used again.{' '}
      {apiKey.lastUsedAt ? (
        <>
          It was last used <Ago at={apiKey.lastUsedAt} />.
        </>
      ) : (
        'It was never used.'
      )}
    </NameDialog>
  )
}
