import { useQuery } from '@connectrpc/connect-query'
import { Button, Stack } from '@mantine/core'
import { useState } from 'react'
import { PersonService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { Dialog } from '../dialog/dialog.tsx'
import type { Question } from '../question/question.ts'
import { CodeForm } from './code-form.tsx'
import { currentPath, IssuerButton } from './issuer-button.tsx'
import { hostOf } from './issuer-host.ts'
import { PasswordForm } from './password-form.tsx'

/** Signing in again, as the same person. The call that found no session then goes on. */
export function SignInDialog({ question }: { question: Question }) {
  const [needsCode, setNeedsCode] = useState(false)
  const person = useQuery(PersonService.method.getPerson, {}, { enabled: false })
  const issuer = person.data?.installation?.issuer
  const goOn = () => question.answer(true)
  const leave = () => question.answer(false)
  return (
    <Dialog
      opened
      onClose={leave}
      closeOnEscape={false}
      closeOnClickOutside={false}
      withCloseButton={false}
      title="Your session has ended"
    >
      <Stack gap="md">
        <p className="soft">Sign in again to go on where you are. What you typed on this page is still there.</p>
        {needsCode ? (
          <CodeForm onDone={goOn} onStartAgain={leave} />
        ) : (
          <>
            {person.data?.hasPassword !== false && (
              <PasswordForm of={person.data?.email} onDone={goOn} onNeedsCode={() => setNeedsCode(true)} />
            )}
            {issuer !== undefined && <IssuerButton host={hostOf(issuer)} purpose="sign-in" back={currentPath()} />}
            <Button variant="subtle" onClick={leave}>
              Sign in as another person
            </Button>
          </>
        )}
      </Stack>
    </Dialog>
  )
}
