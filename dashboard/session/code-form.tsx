import { Button, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from '../feedback/form.tsx'
import { verifyBackupCode, verifyCode } from './auth-calls.ts'
import { AuthFaultNote } from './auth-fault-note.tsx'

/** The second step of signing in. */
export function CodeForm({ onDone, onStartAgain }: { onDone(): void; onStartAgain(): void }) {
  const [backup, setBackup] = useState(false)
  const [code, setCode] = useState('')
  const attempt = useMutation({
    mutationFn: () => (backup ? verifyBackupCode(code.trim()) : verifyCode(code.replaceAll(/\s/g, ''))),
    onSuccess: onDone,
  })
  return (
    <Form onSubmit={() => attempt.mutate()}>
      <TextInput
        key={String(backup)}
        label={backup ? 'Backup code' : 'Code from your authenticator app'}
        description={backup ? 'One of the codes that you stored. Each works once.' : 'Six digits.'}
        inputMode={backup ? 'text' : 'numeric'}
        autoComplete="one-time-code"
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
        required
        withAsterisk={false}
        autoFocus
      />
      <AuthFaultNote error={attempt.error} />
      <Button type="submit" loading={attempt.isPending}>
        Continue
      </Button>
      <Button
        variant="subtle"
        onClick={() => {
          setBackup(!backup)
          setCode('')
          attempt.reset()
        }}
      >
        {backup ? 'Use the authenticator app' : 'Use a backup code'}
      </Button>
      <Button variant="subtle" onClick={onStartAgain}>
        Sign in as another person
      </Button>
    </Form>
  )
}
