import { ActionIcon, Button, Popover, Stack, TextInput } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { IconBookmark, IconX } from '@tabler/icons-react'
import { type FormEvent, useState } from 'react'
import { useAccount } from '../account/account.ts'
import { CopyButton } from '../copy/copy-button.tsx'
import styles from './filters.module.css'

/** Filters, range and columns under a name. */
interface View {
  name: string
  search: Record<string, string>
}

interface SavedViewsProps {
  /** The name of the list. */
  list: string
  /** The parameters of the page's address. */
  search: Record<string, string | undefined>
  onOpen(search: Record<string, string>): void
}

/** The filters that a person has saved in this browser. The page's link shares the current ones. */
export function SavedViews({ list, search, onOpen }: SavedViewsProps) {
  const { membership } = useAccount()
  const [views, setViews] = useLocalStorage<View[]>({
    key: `verdict.views.${membership.accountId}.${list}`,
    defaultValue: [],
    getInitialValueInEffect: false,
  })
  const [opened, setOpened] = useState(false)
  const [name, setName] = useState('')
  const given = Object.entries(search).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const save = (event: FormEvent) => {
    event.preventDefault()
    const view = { name: name.trim(), search: Object.fromEntries(given) }
    if (view.name === '') return
    setViews([...views.filter((each) => each.name !== view.name), view])
    setName('')
  }
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" trapFocus>
      <Popover.Target>
        <Button
          variant="default"
          size="xs"
          leftSection={<IconBookmark size={14} aria-hidden />}
          onClick={() => setOpened(!opened)}
        >
          Saved
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Saved filters" maw={320}>
        <Stack gap={8}>
          {views.length > 0 && (
            <ul className={styles.views}>
              {views.map((view) => (
                <li key={view.name}>
                  <button
                    type="button"
                    className={styles.choice}
                    onClick={() => {
                      onOpen(view.search)
                      setOpened(false)
                    }}
                  >
                    {view.name}
                  </button>
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    size="sm"
                    aria-label={`Remove ${view.name}`}
                    onClick={() => setViews(views.filter((each) => each !== view))}
                  >
                    <IconX size={14} aria-hidden />
                  </ActionIcon>
                </li>
              ))}
            </ul>
          )}
          {given.length === 0 ? (
            <p className="faint">Add a filter or a range, and save it here under a name.</p>
          ) : (
            <>
              <form onSubmit={save} className={styles.saveView}>
                <TextInput
                  size="xs"
                  label="Save what is shown as"
                  placeholder="Bounces at Outlook"
                  value={name}
                  onChange={(event) => setName(event.currentTarget.value)}
                  maxLength={60}
                  data-autofocus
                />
                <Button type="submit" size="xs" disabled={name.trim() === ''}>
                  Save
                </Button>
              </form>
              <span className={styles.shareView}>
                <span className="faint">Share it by its link</span>
                <CopyButton text={location.href} label="link" />
              </span>
            </>
          )}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
