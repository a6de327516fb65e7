import { Button, Group } from '@mantine/core'

interface DialogButtonsProps {
  /** What the dialog does. */
  verb: string
  onClose(): void
  /** Without it the button submits the form around it. */
  onConfirm?(): void
  pending?: boolean
  disabled?: boolean
  /** Red for what cannot be undone. */
  color?: 'red'
}

/** The end of a dialog: the way out, and what the dialog does. A dialog without a field starts on the latter. */
export function DialogButtons(props: DialogButtonsProps) {
  const { verb, onClose, onConfirm, pending, disabled, color } = props
  return (
    <Group justify="flex-end" gap="xs">
      <Button variant="default" onClick={onClose}>
        Cancel
      </Button>
      <Button
        type={onConfirm ? 'button' : 'submit'}
        color={color}
        loading={pending}
        disabled={disabled}
        onClick={onConfirm}
        data-autofocus={onConfirm ? true : undefined}
      >
        {verb}
      </Button>
    </Group>
  )
}
