import { IconAlertCircle } from '@tabler/icons-react'
import styles from '../feedback/feedback.module.css'
import { wordsForAuth } from './auth-calls.ts'

/** Says why signing in, or a change of how one signs in, has failed. */
export function AuthFaultNote({ error }: { error: unknown }) {
  if (!error) return null
  return (
    <p className={styles.fault} role="alert">
      <IconAlertCircle size={16} aria-hidden />
      <span>{wordsForAuth(error)}</span>
    </p>
  )
}
