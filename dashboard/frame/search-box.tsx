import { IconSearch } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useAccount } from '../account/account.ts'
import styles from './search.module.css'
import { placeOf } from './search-place.ts'

/** The one search of every page. `/` focuses it. */
export function SearchBox() {
  const { membership } = useAccount()
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const search = (event: FormEvent) => {
    event.preventDefault()
    const place = placeOf(text)
    if (place) void navigate({ href: `/dashboard/${membership.accountId}/${place}` })
  }
  return (
    <search className={styles.search}>
      <form onSubmit={search}>
        <IconSearch size={16} aria-hidden />
        <input
          data-search-box
          type="search"
          aria-label="Search messages by address, message id or tag"
          placeholder="Address, message id or tag"
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
