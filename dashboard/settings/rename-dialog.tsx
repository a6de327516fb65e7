import { TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { Dialog } from '../dialog/dialog.tsx'
import { fieldFaults } from '../feedback/call-error.ts'
import { DialogButtons } from '../feedback/dialog-buttons.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import { Form } from '../feedback/form.tsx'
import { useRefresh } from '../refresh.ts'

interface RenameDialogProps {
  title: string
  /** The current name. */
  name: string
  save(name: string): Promise<unknown>
  onClose(): void
}

/** Changes the name of the account or of the person. */
export function RenameDialog({ title, name: current, save, onClose }: RenameDialogProps) {
  const [name, setName] = useState(current)
  const refresh = useRefresh()
  const rename = useMutation({
    mutationFn: () => save(name),
    async onSuccess() {
      // The names of the accounts are part of the person.
      await refresh(PersonService.method.getPerson)
      onClose()
    },
  })
  const fault = fieldFaults(rename.error).get('name')
  return (
    <Dialog opened onClose={onClose} title={title}>
      <Form onSubmit={() => rename.mutate()}>
        <TextInput
          label="Name"
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          required
          withAsterisk={false}
          error={fault}
          data-autofocus
        />
        {!fault && <CallFault error={rename.error} />}
        <DialogButtons
          verb="Change name"
          onClose={onClose}
          pending={rename.isPending}
          disabled={name.trim() === '' || name.trim() === current}
        />
      </Form>
    </Dialog>
  )
}
