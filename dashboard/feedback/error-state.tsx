import { Button } from '@mantine/core'
import { IconAlertCircle } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useAccount } from '../account/account.ts'
import { errorCodeOf, wordsFor } from './call-error.ts'
import styles from './feedback.module.css'

/** Error codes of calls that fail again however often they are repeated. */
const PERMANENT = new Set(['not_found', 'event_expired', 'insufficient_role'])

/** The titles of errors that are not failures to load. */
const TITLES: Partial<Record<string, string>> = {
  not_found: 'There is nothing here.',
  event_expired: 'This has expired.',
}

/** Shown in the place of what could not be loaded. */
export function ErrorState({ error, retry }: { error: unknown; retry?: () => void }) {
  const reason = errorCodeOf(error)
  return (
    <div className={styles.state} role="alert">
      <IconAlertCircle className={styles.errorIcon} size={24} aria-hidden />
      <p className={styles.title}>{TITLES[reason ?? ''] ?? 'This could not be loaded.'}</p>
      <p className="soft">{wordsFor(error)}</p>
      {reason && <code className="faint">{reason}</code>}
      {retry && !(reason && PERMANENT.has(reason)) && (
        <Button variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** Says why a call that a person started has failed. Renders nothing without an error. */
export function CallFault({ error }: { error: unknown }) {
  if (!error) return null
  return (
    <p className={styles.fault} role="alert">
      <IconAlertCircle size={16} aria-hidden />
      <span>
        {wordsFor(error)} {errorCodeOf(error) === 'webhook_not_configured' && <EndpointLink />}
      </span>
    </p>
  )
}

function EndpointLink() {
  const { membership } = useAccount()
  return (
    <Link to="/$account/settings/webhook" params={{ account: membership.accountId }} className="text-link">
      Set an endpoint
    </Link>
  )
}
