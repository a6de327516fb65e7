import { Menu } from '@mantine/core'
import { IconCheck, IconSelector } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useAccount } from '../account/account.ts'
import { BrandMark } from './mark.tsx'
import styles from './rail.module.css'

/** The account of the page; with more than one, the way to the others. */
export function AccountSwitcher() {
  const { person, membership } = useAccount()
  const navigate = useNavigate()
  if (person.accounts.length < 2) {
    return (
      <div className={styles.account}>
        <BrandMark />
        <span className={styles.name}>{membership.name}</span>
      </div>
    )
  }
  return (
    <Menu position="bottom-start" width={224}>
      <Menu.Target>
        <button type="button" className={styles.account} aria-label={`Account ${membership.name}. Switch account`}>
          <BrandMark />
          <span className={styles.name}>{membership.name}</span>
          <IconSelector size={16} aria-hidden />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Accounts</Menu.Label>
        {person.accounts.map(({ accountId, name }) => (
          <Menu.Item
            key={accountId}
            rightSection={accountId === membership.accountId && <IconCheck size={14} aria-label="Current" />}
            onClick={() => void navigate({ to: '/$account', params: { account: accountId } })}
          >
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
