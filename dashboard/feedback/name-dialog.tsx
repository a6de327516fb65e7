import { TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Dialog } from '../dialog/dialog.tsx'
import { DialogButtons } from './dialog-buttons.tsx'
import { CallFault } from './error-state.tsx'
import { Form } from './form.tsx'

interface NameDialogProps {
  opened: boolean
  title: string
  /** What is lost. */
  children: ReactNode
  /** What the person has to type. */
  name: string
  /** The verb on the button. */
  verb: string
  pending: boolean
  error: unknown
  onConfirm(): void
  onClose(): void
}

/** Asks for the name of a thing before it is lost. */
export function NameDialog({ opened, onClose, title, ...rest }: NameDialogProps) {
  return (
    <Dialog opened={opened} onClose={onClose} title={title}>
      <NameForm {...rest} onClose={onClose} />
    </Dialog>
  )
}

function NameForm(props: Omit<NameDialogProps, 'opened' | 'title'>) {
  const { children, name, verb, pending, error, onConfirm, onClose } = props
  const [typed, setTyped] = useState('')
  const matches = typed.trim() === name
  return (
    <Form
      onSubmit={() => {
        if (matches) onConfirm()
      }}
    >
      <div>{children}</div>
      <TextInput
        label={
          <>
            Type <code>{name}</code> to confirm
          </>
        }
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
      />
      <CallFault error={error} />
      <DialogButtons verb={verb} onClose={onClose} color="red" pending={pending} disabled={!matches} />
    </Form>
  )
}
