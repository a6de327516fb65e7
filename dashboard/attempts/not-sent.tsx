import { Link } from '@tanstack/react-router'
import { useAccount } from '../account/account.ts'

/** Why an event was never sent to the endpoint. */
export function NotSent({ sandbox }: { sandbox: boolean }) {
  const { membership } = useAccount()
  if (sandbox) return 'Events of dry runs are not sent to the endpoint, unless you replay them.'
  return (
    <>
      It was not sent: there was no endpoint then, or it did not ask for such events.{' '}
      <Link to="/$account/settings/webhook" params={{ account: membership.accountId }} className="text-link">
        See your endpoint
      </Link>
    </>
  )
}
