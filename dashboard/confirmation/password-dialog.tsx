import { useMutation } from '@connectrpc/connect-query'
import { Modal, Stack } from '@mantine/core'
import { useState } from 'react'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { DialogButtons } from '../feedback/dialog-buttons.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import type { Question } from '../question/question.ts'
import { PasswordField } from '../session/password-field.tsx'
import { useConfirmation } from './confirmation.ts'

// Escape ends the question alone: without this it would also close the dialog whose call needs the password.
const OWN_ESCAPE = { 'data-mantine-stop-propagation': 'true' }

/** The question for the password. */
export function PasswordDialog() {
  const confirmation = useConfirmation()
  const cancel = () => confirmation.answer(false)
  return (
    <Modal
      opened
      onClose={cancel}
      closeOnEscape={false}
      onKeyDown={(event) => event.key === 'Escape' && cancel()}
      withCloseButton={false}
      title="Enter your password"
    >
      <PasswordForm confirmation={confirmation} />
    </Modal>
  )
}

function PasswordForm({ confirmation }: { confirmation: Question }) {
  const [password, setPassword] = useState('')
  const check = useMutation(PersonService.method.confirmPassword, { onSuccess: () => confirmation.answer(true) })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        check.mutate({ password })
      }}
    >
      <Stack gap="md">
        <p className="soft">
          This change needs your password. Other changes in the next ten minutes do not, except to how you sign in.
        </p>
        <PasswordField
          value={password}
          onChange={setPassword}
          data-autofocus
          {...OWN_ESCAPE}
          visibilityToggleButtonProps={OWN_ESCAPE}
        />
        <CallFault error={check.error} />
        <DialogButtons
          verb="Continue"
          onClose={() => confirmation.answer(false)}
          pending={check.isPending}
          disabled={password === ''}
          attributes={OWN_ESCAPE}
        />
      </Stack>
    </form>
  )
}
