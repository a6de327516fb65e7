import { Link, Outlet } from '@tanstack/react-router'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { useAccount } from '../account/account.ts'
import { TroubleMark } from '../frame/trouble-mark.tsx'
import styles from '../tabs/tabs.module.css'

/** The pages of the settings, in order, and the lowest role that can read each. */
export const SETTINGS_PAGES = [
  ['API keys', '/$account/settings/keys', Role.READER],
  ['Webhook', '/$account/settings/webhook', Role.READER],
  ['Notifications', '/$account/settings/notifications', Role.READER],
  ['People', '/$account/settings/people', Role.READER],
  ['Audit log', '/$account/settings/audit', Role.MEMBER],
  ['Limits', '/$account/settings/limits', Role.READER],
  ['Profile', '/$account/settings/profile', Role.READER],
] as const

/** The frame of every page of the settings. */
export function SettingsPages() {
  const { membership } = useAccount()
  const pages = SETTINGS_PAGES.filter(([, , role]) => membership.role >= role)
  return (
    <>
      <nav aria-label="Settings" className={styles.tabs}>
        {pages.map(([label, to]) => (
          <Link key={to} to={to} params={{ account: membership.accountId }} className={styles.tab}>
            {label} <TroubleMark page={to} />
          </Link>
        ))}
      </nav>
      <Outlet />
    </>
  )
}
