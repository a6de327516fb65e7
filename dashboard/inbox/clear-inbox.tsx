import { useMutation } from '@connectrpc/connect-query'
import { Button, Group, Modal, Stack } from '@mantine/core'
import { InboxService } from '../../gen/verdict/admin/v1/inbox_pb.ts'
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
    <Modal opened={opened} onClose={onClose} title="Clear the inbox" onExitTransitionEnd={clear.reset}>
      <Stack gap="md">
        <p>
          {total === 1 ? 'One message is' : `All ${countOf(total)} messages of this account are`} deleted from the
          simulator's inbox. What Verdict recorded about them stays under Messages.
        </p>
        <CallFault error={clear.error} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button color="red" loading={clear.isPending} onClick={() => clear.mutate({})} data-autofocus>
            Clear inbox
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
