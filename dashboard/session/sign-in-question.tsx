import { lazy, Suspense } from 'react'
import { useIsAsked } from '../question/question.ts'
import { useSessionEnd } from './session-end.ts'

const SignInDialog = lazy(async () => ({ default: (await import('./sign-in-dialog.tsx')).SignInDialog }))

/** Shows the dialog to sign in again when a call finds that the session has ended. */
export function SignInQuestion() {
  const asked = useIsAsked(useSessionEnd())
  return <Suspense>{asked && <SignInDialog />}</Suspense>
}
