import { Link, useRouterState } from '@tanstack/react-router'
import { useAccount } from '../account/account.ts'
import { AccountSwitcher } from './account-switcher.tsx'
import { PersonMenu } from './person-menu.tsx'
import styles from './rail.module.css'
import { RAIL_ENTRIES } from './rail-entries.ts'
import { TroubleMark } from './trouble-mark.tsx'

/** Where one can go: the account on top, its pages, and the person below. */
export function Rail({ onNavigate }: { onNavigate?: () => void }) {
  const { membership, person } = useAccount()
  // The page of a message that was opened as an event belongs to Events.
  const isEvent = useRouterState({ select: ({ location }) => 'event' in location.search })
  const isRefused = useRouterState({ select: ({ location }) => location.pathname.endsWith('/refused-sends') })
  const current = isEvent ? '/$account/events' : isRefused ? '/$account/messages' : undefined
  const entries = RAIL_ENTRIES.filter(({ inbox }) => !inbox || person.installation?.inbox)
  return (
    <div className={styles.rail}>
      <AccountSwitcher />
      <nav aria-label="Pages">
        <ul className={styles.entries}>
          {entries.map(({ label, to, icon: Icon, key }) => (
            <li key={to}>
              <Link
                to={to}
                params={{ account: membership.accountId }}
                className={styles.entry}
                activeOptions={{ exact: isEvent || to.endsWith('$account'), includeSearch: false }}
                aria-current={to === current ? 'page' : undefined}
                onClick={onNavigate}
              >
                <Icon size={18} stroke={1.7} aria-hidden />
                <span>{label}</span>
                <TroubleMark page={to} />
                <kbd aria-hidden>g {key}</kbd>
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className={styles.bottom}>
        <PersonMenu />
      </div>
    </div>
  )
}
