import { IconSearch } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useState } from 'react'
import { useAccount } from '../account/account.ts'
import { useCombobox } from './combobox.ts'
import { useMetadataKeys } from './metadata-keys.ts'
import styles from './search.module.css'
import { useSearch } from './search-counts.ts'
import { type Reading, readingsOf } from './search-place.ts'

/** The one search of every page. `/` focuses it. A menu says how the text can be read, and the person chooses. */
export function SearchBox() {
  const { membership } = useAccount()
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const [isOpen, setOpen] = useState(false)
  const metadataKeys = useMetadataKeys(isOpen && text !== '')
  const search = useSearch(readingsOf(text, metadataKeys), isOpen)
  const readings = isOpen ? search.readings : []
  const { chosen, setChosen, onKeyDown, box, listId, option } = useCombobox(readings.length)
  const open = (reading: Reading | undefined) => {
    if (!reading) return
    setOpen(false)
    void navigate({ href: `/dashboard/${membership.accountId}/${reading.place}` })
  }
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || readings.length === 0) return
    event.preventDefault()
    setOpen(false)
  }
  return (
    <search className={styles.search}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (chosen > 0) open(readings[chosen])
          else void search.best().then(open)
        }}
      >
        <IconSearch size={16} aria-hidden />
        <input
          {...box}
          data-search-box
          type="search"
          aria-label="Search messages by recipient, domain, subject, metadata, tag or message id"
          placeholder="Recipient, domain, subject, tag or id"
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value)
            setChosen(0)
            setOpen(true)
          }}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={(event) => {
            onKeyDown(event)
            closeOnEscape(event)
          }}
        />
        <kbd aria-hidden>/</kbd>
      </form>
      <div
        id={listId}
        role="listbox"
        aria-label="Ways to search"
        className={styles.menu}
        hidden={readings.length === 0}
      >
        {readings.map((reading, i) => (
          <div
            {...option(i)}
            role="option"
            tabIndex={-1}
            key={reading.place}
            // The focus stays in the box: a blur would close the menu before the click.
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => open(reading)}
            onKeyDown={() => {}}
          >
            <span className={styles.reading}>
              {reading.label} <strong>{reading.value}</strong>
            </span>
            {reading.found && <span className={styles.found}>{reading.found.words}</span>}
          </div>
        ))}
      </div>
    </search>
  )
}
