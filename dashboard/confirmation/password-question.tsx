import { lazy, Suspense, useSyncExternalStore } from 'react'
import { useConfirmation } from './confirmation.ts'

const PasswordDialog = lazy(async () => ({ default: (await import('./password-dialog.tsx')).PasswordDialog }))

/** Shows the dialog for the password when a call needs it, whatever page it is of. */
export function PasswordQuestion() {
  const confirmation = useConfirmation()
  const asked = useSyncExternalStore(confirmation.subscribe, confirmation.isAsked)
  return <Suspense>{asked && <PasswordDialog />}</Suspense>
}
