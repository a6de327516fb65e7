import { Button, Stack } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Dialog } from '../dialog/dialog.tsx'
import { DialogButtons } from '../feedback/dialog-buttons.tsx'
import { countOf } from '../numbers/quantities.ts'

interface StartButtonProps {
  /** How many events the replay sends; undefined while they are counted. */
  count: number | undefined
  /** Whether to ask before the replay starts. */
  asks: boolean
  pending: boolean
  onStart(): void
}

/** Starts a replay. Without a time it first says how many events that sends. */
export function StartButton({ count, asks, pending, onStart }: StartButtonProps) {
  const [opened, { open, close }] = useDisclosure()
  const events = `${count === undefined ? '' : countOf(count)} ${count === 1 ? 'event' : 'events'}`
  const start = () => {
    close()
    onStart()
  }
  return (
    <>
      <Button disabled={!count} loading={pending} onClick={asks ? open : onStart}>
        Replay {events}
      </Button>
      <Dialog opened={opened} onClose={close} title="Replay without a time">
        <Stack gap="md">
          <p>You chose neither From nor To. Your endpoint gets {events} again, from all of the last 90 days.</p>
          <DialogButtons verb={`Replay ${events}`} onClose={close} onConfirm={start} />
        </Stack>
      </Dialog>
    </>
  )
}
