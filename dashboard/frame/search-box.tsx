import { IconSearch } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useId, useState } from 'react'
import { useAccount } from '../account/account.ts'
import styles from './search.module.css'
import { type Reading, readingsOf } from './search-place.ts'

/** The one search of every page. `/` focuses it. A menu says how the text can be read, and the person chooses. */
export function SearchBox() {
  const { membership } = useAccount()
  const navigate = useNavigate()
  const list = useId()
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const [isOpen, setOpen] = useState(false)
  const readings = isOpen ? readingsOf(text) : []
  const optionId = (i: number) => `${list}-${i}`
  const open = (reading: Reading | undefined) => {
    if (!reading) return
    setOpen(false)
    void navigate({ href: `/dashboard/${membership.accountId}/${reading.place}` })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && readings.length > 0) {
      event.preventDefault()
      setChosen((chosen + step + readings.length) % readings.length)
    }
    if (event.key === 'Escape' && readings.length > 0) {
      event.preventDefault()
      setOpen(false)
    }
  }
  return (
    <search className={styles.search}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          open(readingsOf(text)[chosen])
        }}
      >
        <IconSearch size={16} aria-hidden />
        <input
          data-search-box
          type="search"
          role="combobox"
          aria-label="Search messages by recipient, domain, subject, metadata, tag or message id"
          aria-expanded={readings.length > 0}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={readings.length > 0 ? optionId(chosen) : undefined}
          placeholder="Recipient, domain, subject, tag or id"
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value)
            setChosen(0)
            setOpen(true)
          }}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={onKeyDown}
          spellCheck={false}
          autoComplete="off"
        />
        <kbd aria-hidden>/</kbd>
      </form>
      <div id={list} role="listbox" aria-label="Ways to search" className={styles.menu} hidden={readings.length === 0}>
        {readings.map((reading, i) => (
          <div
            key={reading.place}
            id={optionId(i)}
            role="option"
            aria-selected={i === chosen}
            tabIndex={-1}
            // The focus stays in the box: a blur would close the menu before the click.
            onPointerDown={(event) => event.preventDefault()}
            onPointerEnter={() => setChosen(i)}
            onClick={() => open(reading)}
            onKeyDown={() => {}}
          >
            <span>{reading.label}</span> <strong>{reading.value}</strong>
          </div>
        ))}
      </div>
    </search>
  )
}
