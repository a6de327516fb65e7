import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'

const SHOWN_MS = 10_000

/** Says what was done, and offers for ten seconds to take it back. */
export function tellUndoable(message: string, undo: () => void): void {
  const id = notifications.show({
    autoClose: SHOWN_MS,
    message: (
      <Group justify="space-between" wrap="nowrap">
        <span>{message}</span>
        <Button
          variant="default"
          size="xs"
          onClick={() => {
            notifications.hide(id)
            undo()
          }}
        >
          Undo
        </Button>
      </Group>
    ),
  })
}
