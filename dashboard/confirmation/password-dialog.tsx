import { useMutation, useQuery } from '@connectrpc/connect-query'
import { Button, Stack } from '@mantine/core'
import { useState } from 'react'
import { type GetPersonResponse, PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { Dialog } from '../dialog/dialog.tsx'
import { DialogButtons } from '../feedback/dialog-buttons.tsx'
import { CallFault } from '../feedback/error-state.tsx'
import { Form } from '../feedback/form.tsx'
import type { Question } from '../question/question.ts'
import { currentPath, IssuerButton } from '../session/issuer-button.tsx'
import { hostOf } from '../session/issuer-host.ts'
import { PasswordField } from '../session/password-field.tsx'
import { useConfirmation } from './confirmation.ts'

/** The question for the password. */
export function PasswordDialog() {
  const confirmation = useConfirmation()
  const cancel = () => confirmation.answer(false)
  const person = useQuery(PersonService.method.getPerson)
  return (
    <Dialog
      opened
      onClose={cancel}
      withCloseButton={false}
      title={person.data?.hasPassword === false ? 'Confirm who you are' : 'Enter your password'}
    >
      <Stack gap="md">
        {person.data?.hasPassword !== false && <ConfirmPasswordForm confirmation={confirmation} />}
        {person.data && <IssuerConfirmation person={person.data} onCancel={cancel} />}
      </Stack>
    </Dialog>
  )
}

/** Confirms by a sign-in at the issuer. The browser leaves the page, so the person has to repeat the change. */
function IssuerConfirmation({ person, onCancel }: { person: GetPersonResponse; onCancel(): void }) {
  const issuer = person.installation?.issuer
  if (issuer === undefined || !person.identities.some((identity) => identity.issuer === issuer)) return null
  return (
    <>
      <p className="soft">
        {person.hasPassword ? 'Or sign in' : 'This change needs a fresh sign-in. Sign in'} at {hostOf(issuer)} again.
        You come back to this page, and can make the change within ten minutes.
      </p>
      <IssuerButton host={hostOf(issuer)} purpose="confirm" back={currentPath()} />
      {!person.hasPassword && (
        <Button variant="subtle" onClick={onCancel}>
          Cancel
        </Button>
      )}
    </>
  )
}

function ConfirmPasswordForm({ confirmation }: { confirmation: Question }) {
  const [password, setPassword] = useState('')
  const check = useMutation(PersonService.method.confirmPassword, { onSuccess: () => confirmation.answer(true) })
  return (
    <Form onSubmit={() => check.mutate({ password })}>
      <p className="soft">
        This change needs your password. Other changes in the next ten minutes do not, except to how you sign in.
      </p>
      <PasswordField value={password} onChange={setPassword} data-autofocus />
      <CallFault error={check.error} />
      <DialogButtons
        verb="Continue"
        onClose={() => confirmation.answer(false)}
        pending={check.isPending}
        disabled={password === ''}
      />
    </Form>
  )
}
