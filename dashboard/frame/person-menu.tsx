import { type MantineColorScheme, Menu, useMantineColorScheme } from '@mantine/core'
import {
  IconBook,
  IconCode,
  IconDeviceDesktop,
  IconDots,
  IconLogout,
  IconMoon,
  IconSun,
  IconUser,
} from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { ROLE_WORDS, useAccount } from '../account/account.ts'
import { useSignOut } from '../session/sign-out.ts'
import styles from './rail.module.css'

const SCHEMES = [
  { scheme: 'auto', word: 'As the system', icon: IconDeviceDesktop },
  { scheme: 'light', word: 'Light', icon: IconSun },
  { scheme: 'dark', word: 'Dark', icon: IconMoon },
] as const

/** The person: profile, what there is to read, light or dark, and signing out. */
export function PersonMenu() {
  const { person, membership } = useAccount()
  const navigate = useNavigate()
  const openProfile = () =>
    void navigate({ to: '/$account/settings/profile', params: { account: membership.accountId } })
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const signOut = useSignOut()
  return (
    // Inside the rail the menu is a part of the navigation. The placeholder would be a child that no menu may have.
    <Menu position="top-start" width={224} withinPortal={false} withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <button type="button" className={styles.person}>
          <span className={styles.initial} aria-hidden>
            {person.name.charAt(0).toUpperCase()}
          </span>
          <span className={styles.name}>{person.name}</span>
          <IconDots size={16} aria-hidden />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {person.email}
          <br />
          {ROLE_WORDS[membership.role]} of <bdi>{membership.name}</bdi>
        </Menu.Label>
        <Menu.Item leftSection={<IconUser size={14} aria-hidden />} onClick={openProfile}>
          Profile
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item component="a" href="/guides/" target="_blank" leftSection={<IconBook size={14} aria-hidden />}>
          Guides
        </Menu.Item>
        <Menu.Item component="a" href="/docs" target="_blank" leftSection={<IconCode size={14} aria-hidden />}>
          API reference
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>Colours</Menu.Label>
        <Menu.RadioGroup value={colorScheme} onChange={(scheme) => setColorScheme(scheme as MantineColorScheme)}>
          {SCHEMES.map(({ scheme, word, icon: Icon }) => (
            <Menu.RadioItem key={scheme} value={scheme} rightSection={<Icon size={14} aria-hidden />}>
              {word}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={14} aria-hidden />} onClick={() => void signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
