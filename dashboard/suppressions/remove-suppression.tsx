import { useMutation } from '@connectrpc/connect-query'
import { Button } from '@mantine/core'
import { type SuppressionEntry, SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { wordsFor } from '../feedback/call-error.ts'
import { useRefresh } from '../refresh.ts'

/** Removes an entry at once, and offers to put it back. */
export function RemoveSuppression({ email, tenantId, reason }: SuppressionEntry) {
  const refreshAll = useRefresh()
  const refresh = () => void refreshAll(SuppressionService.method.list)
  const undo = useMutation(SuppressionService.method.add, { onSuccess: refresh, onError: tellFault })
  const remove = useMutation(SuppressionService.method.remove, {
    async onSuccess() {
      refresh()
      const { tellUndoable } = await import('../feedback/undo.tsx')
      tellUndoable(`${email} can be mailed again.`, () => undo.mutate({ email, tenantId, reason }))
    },
    onError: tellFault,
  })
  return (
    <Button
      variant="default"
      size="xs"
      loading={remove.isPending}
      aria-label={`Remove ${email}`}
      onClick={() => remove.mutate({ email, tenantId })}
    >
      Remove
    </Button>
  )
}

async function tellFault(error: unknown): Promise<void> {
  const { notifications } = await import('@mantine/notifications')
  notifications.show({ color: 'red', message: wordsFor(error) })
}
