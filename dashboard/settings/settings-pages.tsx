import { Link, Outlet } from '@tanstack/react-router'
import { useAccount } from '../account/account.ts'
import styles from './settings.module.css'

/** The pages of the settings, in order. */
const PAGES = [
  ['API keys', '/$account/settings/keys'],
  ['Webhook', '/$account/settings/webhook'],
  ['People', '/$account/settings/people'],
  ['Audit log', '/$account/settings/audit'],
  ['Limits', '/$account/settings/limits'],
  ['Profile', '/$account/settings/profile'],
] as const

/** What stands around every page of the settings. */
export function SettingsPages() {
  const { membership } = useAccount()
  return (
    <>
      <nav aria-label="Settings" className={styles.tabs}>
        {PAGES.map(([label, to]) => (
          <Link key={to} to={to} params={{ account: membership.accountId }} className={styles.tab}>
            {label}
          </Link>
        ))}
      </nav>
      <Outlet />
    </>
  )
}
