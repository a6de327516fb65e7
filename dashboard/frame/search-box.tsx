import { IconSearch } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useAccount } from '../account/account.ts'
import styles from './search.module.css'

/** Where a search leads: an id opens its page, a domain or an address filters the messages. */
function placeOf(text: string): string {
  if (/^msg_\w+$/.test(text)) return `messages/${text}`
  if (/^evt_\w+$/.test(text)) return `events/${text}`
  return `messages?${new URLSearchParams({ recipient: text })}`
}

/** The one search of every page. `/` focuses it. */
export function SearchBox() {
  const { membership } = useAccount()
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const search = (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() !== '') void navigate({ href: `/dashboard/${membership.accountId}/${placeOf(text.trim())}` })
  }
  return (
    <search className={styles.search}>
      <form onSubmit={search}>
        <IconSearch size={16} aria-hidden />
        <input
          data-search-box
          type="search"
          aria-label="Search messages by address or message id"
          placeholder="Address or message id"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          spellCheck={false}
          autoComplete="off"
        />
        <kbd aria-hidden>/</kbd>
      </form>
    </search>
  )
}
