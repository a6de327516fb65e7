import { lazy, Suspense } from 'react'
import { useIsAsked } from '../question/question.ts'
import { useConfirmation } from './confirmation.ts'

const PasswordDialog = lazy(async () => ({ default: (await import('./password-dialog.tsx')).PasswordDialog }))

/** Shows the dialog for the password when a call needs it, whatever page it is of. */
export function PasswordQuestion() {
  const asked = useIsAsked(useConfirmation())
  return <Suspense>{asked && <PasswordDialog />}</Suspense>
}
