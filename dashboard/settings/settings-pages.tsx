import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
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

/** The width of the previous tab that stays in view. */
const TAB_BEFORE_PX = 48

/** The frame of every page of the settings. */
export function SettingsPages() {
  const { membership } = useAccount()
  const pages = SETTINGS_PAGES.filter(([, , role]) => membership.role >= role)
  const tabs = useRef<HTMLElement>(null)
  const path = useLocation({ select: ({ pathname }) => pathname })
  // On a narrow screen the tabs scroll, and the current one may be outside.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path has another current tab
  useEffect(() => {
    const list = tabs.current
    const current = list?.querySelector<HTMLElement>('[aria-current="page"]')
    if (list && current) list.scrollLeft = current.offsetLeft - list.offsetLeft - TAB_BEFORE_PX
  }, [path])
  return (
    <>
      <nav aria-label="Settings" className={styles.tabs} ref={tabs}>
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
