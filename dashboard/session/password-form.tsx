import { Button, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from '../feedback/form.tsx'
import { signIn } from './auth-calls.ts'
import { AuthFaultNote } from './auth-fault-note.tsx'
import { PasswordField } from './password-field.tsx'

interface PasswordFormProps {
  /** The address of the person who signs in again. Otherwise it is typed. */
  of?: string
  onDone(): void
  onNeedsCode(): void
}

/** The first step of signing in. */
export function PasswordForm({ of, onDone, onNeedsCode }: PasswordFormProps) {
  const [email, setEmail] = useState(of ?? '')
  const [password, setPassword] = useState('')
  const attempt = useMutation({
    mutationFn: () => signIn(email, password),
    onSuccess: ({ needsCode }) => (needsCode ? onNeedsCode() : onDone()),
  })
  return (
    <Form onSubmit={() => attempt.mutate()}>
      <TextInput
        label="Email address"
        type="email"
        autoComplete="username"
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        readOnly={of !== undefined}
        required
        withAsterisk={false}
        autoFocus={of === undefined}
      />
      <PasswordField value={password} onChange={setPassword} data-autofocus={of !== undefined || undefined} />
      <AuthFaultNote error={attempt.error} />
      <Button type="submit" loading={attempt.isPending}>
        Sign in
      </Button>
    </Form>
  )
}
