import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { PersonService } from '../../../gen/verdict/admin/v1/person_pb.ts'
import { Dialog } from '../../dialog/dialog.tsx'
import { DialogButtons } from '../../feedback/dialog-buttons.tsx'
import { Form } from '../../feedback/form.tsx'
import { useRefresh } from '../../refresh.ts'
import { disableSecondFactor } from '../../session/auth-calls.ts'
import { AuthFaultNote } from '../../session/auth-fault-note.tsx'
import { PasswordField } from '../../session/password-field.tsx'

export function TurnOffDialog({ onClose }: { onClose(): void }) {
  const [password, setPassword] = useState('')
  const refresh = useRefresh()
  const turnOff = useMutation({
    mutationFn: () => disableSecondFactor(password),
    async onSuccess() {
      await refresh(PersonService.method.getPerson, PersonService.method.listSessions)
      onClose()
    },
  })
  return (
    <Dialog opened onClose={onClose} title="Turn off the second factor">
      <Form onSubmit={() => turnOff.mutate()}>
        <p className="soft">From then on your password is enough to sign in. Your backup codes stop working.</p>
        <PasswordField value={password} onChange={setPassword} data-autofocus />
        <AuthFaultNote error={turnOff.error} />
        <DialogButtons
          verb="Turn off"
          onClose={onClose}
          color="red"
          pending={turnOff.isPending}
          disabled={password === ''}
        />
      </Form>
    </Dialog>
  )
}
