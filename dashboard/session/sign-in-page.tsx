import { Button, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { NarrowPage } from '../frame/narrow-page.tsx'
import { signIn } from './auth-calls.ts'
import { AuthFaultNote } from './auth-fault-note.tsx'
import { CodeForm } from './code-form.tsx'
import { PasswordField } from './password-field.tsx'

/** Signing in: the password, then the second factor when the person has one. */
export function SignInPage() {
  const [needsCode, setNeedsCode] = useState(false)
  const { ended } = useSearch({ from: '/sign-in' })
  const enter = useEntry()
  if (needsCode) {
    return (
      <NarrowPage title="Enter a code">
        <CodeForm onDone={enter} onStartAgain={() => setNeedsCode(false)} />
      </NarrowPage>
    )
  }
  return (
    <NarrowPage title="Sign in">
      {ended && <p role="status">Your session has ended. Sign in again.</p>}
      <PasswordForm onDone={enter} onNeedsCode={() => setNeedsCode(true)} />
      <details className="soft">
        <summary>No sign-in yet, or the password is lost?</summary>
        <p>
          In a new installation, open the set-up link that <code>npm start</code> printed;{' '}
          <code>npx verdict people set-up</code> prints a new one. In an account that others use, ask an owner for an
          invitation. When the password is lost, the owner removes you first, and the invitation sets a new one.
        </p>
      </details>
    </NarrowPage>
  )
}

/** Goes to the page that asked to sign in. */
function useEntry(): () => void {
  const { back } = useSearch({ from: '/sign-in' })
  const router = useRouter()
  const queries = useQueryClient()
  return () => {
    queries.clear()
    // Only a path of ours: `//elsewhere` would be another server.
    router.history.replace(back && /^\/(?![/\\])/.test(back) ? `/dashboard${back}` : '/dashboard/')
  }
}

function PasswordForm({ onDone, onNeedsCode }: { onDone(): void; onNeedsCode(): void }) {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const attempt = useMutation({
    mutationFn: () => signIn(email, password),
    onSuccess: ({ needsCode }) => (needsCode ? onNeedsCode() : onDone()),
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        attempt.mutate()
      }}
    >
      <Stack gap="md">
        <TextInput
          label="Email address"
          type="email"
          autoComplete="username"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          required
          withAsterisk={false}
          autoFocus
        />
        <PasswordField value={password} onChange={setPassword} />
        <AuthFaultNote error={attempt.error} />
        <Button type="submit" loading={attempt.isPending}>
          Sign in
        </Button>
      </Stack>
    </form>
  )
}
