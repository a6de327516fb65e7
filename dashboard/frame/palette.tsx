import { useMantineColorScheme } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Role } from '../../gen/verdict/admin/v1/options_pb.ts'
import { useAccount } from '../account/account.ts'
import { Dialog } from '../dialog/dialog.tsx'
import { useSignOut } from '../session/sign-out.ts'
import { SETTINGS_PAGES } from '../settings/settings-pages.tsx'
import { useCombobox } from './combobox.ts'
import styles from './palette.module.css'
import { RAIL_ENTRIES } from './rail-entries.ts'
import { readingsOf } from './search-place.ts'

interface PaletteEntry {
  /** `Go to`, `Do`, or how a search reads the text. */
  kind: string
  label: string
  run(): void
}

/** Pages, searches and actions, found by their names. Ctrl+K opens it. */
export function Palette({ onClose, onShowKeys }: { onClose(): void; onShowKeys(): void }) {
  const [text, setText] = useState('')
  const entries = useEntries(text, onShowKeys)
  const { chosen, setChosen, onKeyDown, box, listId, option } = useCombobox(entries.length)
  const run = (entry: PaletteEntry | undefined) => {
    if (!entry) return
    onClose()
    entry.run()
  }
  return (
    <Dialog
      opened
      onClose={onClose}
      withCloseButton={false}
      padding={0}
      size="lg"
      yOffset="12vh"
      centered={false}
      attributes={{ content: { 'aria-label': 'Pages, searches and actions' } }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          run(entries[chosen])
        }}
      >
        <input
          {...box}
          className={styles.box}
          aria-label="Go to a page, search, or do something"
          placeholder="Go to a page, search, or do something"
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value)
            setChosen(0)
          }}
          onKeyDown={onKeyDown}
          data-autofocus
        />
      </form>
      <div id={listId} role="listbox" aria-label="Pages, searches and actions" className={styles.entries}>
        {entries.map((entry, i) => (
          <div
            {...option(i)}
            role="option"
            tabIndex={-1}
            key={`${entry.kind} ${entry.label}`}
            onClick={() => run(entry)}
            onKeyDown={() => {}}
          >
            <span className={styles.kind}>{entry.kind}</span>
            <bdi>{entry.label}</bdi>
          </div>
        ))}
      </div>
    </Dialog>
  )
}

/** The entries that match the text: pages, then actions, then searches for it. */
function useEntries(text: string, onShowKeys: () => void): PaletteEntry[] {
  const { membership, person } = useAccount()
  const navigate = useNavigate()
  const { setColorScheme } = useMantineColorScheme()
  const signOut = useSignOut()
  const params = { account: membership.accountId }
  const go = (place: string) => () => void navigate({ href: `/dashboard/${membership.accountId}${place}` })
  const pages: PaletteEntry[] = [
    ...RAIL_ENTRIES.filter(({ inbox }) => !inbox || person.installation?.inbox).map(({ label, to }) => ({
      kind: 'Go to',
      label,
      run: () => void navigate({ to, params }),
    })),
    ...SETTINGS_PAGES.filter(([, , role]) => membership.role >= role).map(([label, to]) => ({
      kind: 'Go to',
      label,
      run: () => void navigate({ to, params }),
    })),
  ]
  const act = (label: string, run: () => void): PaletteEntry => ({ kind: 'Do', label, run })
  const ofMembers = [
    act('Create key', go('/settings/keys#create')),
    act('Add domain', go('/domains#add')),
    act('Suppress an address', go('/suppressions#add')),
    act('Import suppressions', go('/suppressions/import')),
    act('Replay a range of events', go('/events/replay')),
  ]
  const actions = [
    ...(membership.role >= Role.MEMBER ? ofMembers : []),
    act('Light colours', () => setColorScheme('light')),
    act('Dark colours', () => setColorScheme('dark')),
    act('Colours as the system', () => setColorScheme('auto')),
    act('Show the keys', onShowKeys),
    act('Sign out', () => void signOut()),
  ]
  const words = text.trim().toLowerCase().split(/\s+/)
  const fits = ({ kind, label }: PaletteEntry) => words.every((word) => `${kind} ${label}`.toLowerCase().includes(word))
  const searches = readingsOf(text).map(({ label, value, place }) => ({
    kind: label,
    label: value,
    run: go(`/${place}`),
  }))
  return [...[...pages, ...actions].filter(fits), ...searches]
}
