import { useMutation } from '@connectrpc/connect-query'
import { Stack } from '@mantine/core'
import { InboxService } from '../../gen/verdict/admin/v1/inbox_pb.ts'
import { Dialog } from '../dialog/dialog.tsx'
import { DialogButtons } from '../feedback/dialog-buttons.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import { countOf } from '../numbers/quantities.ts'
import { useRefresh } from '../refresh.ts'

interface ClearInboxProps {
  opened: boolean
  total: number
  onClose(): void
}

/** Asks before the messages are lost. */
export function ClearInbox({ opened, total, onClose }: ClearInboxProps) {
  const refresh = useRefresh()
  const clear = useMutation(InboxService.method.clearInbox, {
    async onSuccess() {
      await refresh(InboxService.method.listInbox)
      onClose()
    },
  })
  return (
    <Dialog opened={opened} onClose={onClose} title="Clear the inbox" onExitTransitionEnd={clear.reset}>
      <Stack gap="md">
        <p>
          {total === 1 ? 'One message is' : `All ${countOf(total)} messages of this account are`} deleted from the
          simulator's inbox. What Verdict recorded about them stays under Messages.
        </p>
        <CallFault error={clear.error} />
        <DialogButtons
          verb="Clear inbox"
          onClose={onClose}
          onConfirm={() => clear.mutate({})}
          color="red"
          pending={clear.isPending}
        />
      </Stack>
    </Dialog>
  )
}
