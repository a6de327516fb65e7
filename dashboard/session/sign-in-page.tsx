import { useQuery } from '@connectrpc/connect-query'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { SignInService } from '../../gen/verdict/admin/v1/person_pb.ts'
import { NarrowPage } from '../frame/narrow-page.tsx'
import { CodeForm } from './code-form.tsx'
import { dashboardPath } from './dashboard-path.ts'
import { IssuerButton } from './issuer-button.tsx'
import { PasswordForm } from './password-form.tsx'

/** Signing in: the password or the issuer, then the second factor when the person has one. */
export function SignInPage() {
  const [needsCode, setNeedsCode] = useState(false)
  const enter = useEntry()
  const { back } = useSearch({ from: '/sign-in' })
  const { issuerHost, passwordReset } = useQuery(SignInService.method.getSignInMethods).data ?? {}
  if (needsCode) {
    return (
      <NarrowPage title="Enter a code">
        <CodeForm onDone={enter} onStartAgain={() => setNeedsCode(false)} />
      </NarrowPage>
    )
  }
  return (
    <NarrowPage title="Sign in to Verdict">
      <p className="soft">Transactional email that answers with the recipient server's own verdict.</p>
      <PasswordForm onDone={enter} onNeedsCode={() => setNeedsCode(true)} />
      {passwordReset && (
        <p className="soft">
          <Link to="/forgot" className="text-link">
            Forgot password?
          </Link>
        </p>
      )}
      {issuerHost !== undefined && <IssuerButton host={issuerHost} purpose="sign-in" back={back} />}
      <details className="soft">
        <summary>{passwordReset ? 'No sign-in yet?' : 'No sign-in yet, or the password is lost?'}</summary>
        <p>
          In a new installation, open the set-up link that <code>npm start</code> printed;{' '}
          <code>npx verdict people set-up</code> prints a new one. In an account that others use, ask an owner for an
          invitation.{' '}
          {!passwordReset &&
            'When the password is lost, the owner removes you first, and the invitation sets a new one.'}
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
    router.history.replace(dashboardPath(back))
  }
}
