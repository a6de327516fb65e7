import { Button, Popover, Stack, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccount } from '../account/account.ts'
import { minuteOf } from '../time/times.ts'
import styles from './overview.module.css'
import { DEFAULT_PRESET, PRESETS, type Range, type RangeSearch } from './range.ts'

/** The range of the charts: one of the presets, or two times. */
export function RangePicker({ search, range }: { search: RangeSearch; range: Range }) {
  const { membership } = useAccount()
  const navigate = useNavigate()
  const show = (next: RangeSearch) =>
    void navigate({
      to: '/$account',
      params: { account: membership.accountId },
      search: ({ simulated }) => ({ ...next, simulated }),
      replace: true,
    })
  const isOwn = search.from !== undefined && search.to !== undefined
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend that is seen
    <div className={styles.ranges} role="group" aria-label="Range">
      {PRESETS.map(([name, label]) => (
        <button
          key={name}
          type="button"
          aria-pressed={!isOwn && (search.range ?? DEFAULT_PRESET) === name}
          onClick={() => show({ range: name })}
        >
          {label}
        </button>
      ))}
      <OwnRange range={isOwn ? range : undefined} onApply={show} />
    </div>
  )
}

function OwnRange({ range, onApply }: { range: Range | undefined; onApply(search: RangeSearch): void }) {
  const [opened, { toggle, close }] = useDisclosure()
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  return (
    <Popover opened={opened} onChange={(next) => !next && close()} position="bottom-end" trapFocus>
      <Popover.Target>
        <button type="button" aria-pressed={range !== undefined} onClick={toggle}>
          {range ? `${minuteOf(range.fromMs)} to ${minuteOf(range.toMs)}` : 'Own range'}
        </button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Own range">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (!(Date.parse(from) < Date.parse(to))) return
            onApply({ from: new Date(from).toISOString(), to: new Date(to).toISOString() })
            close()
          }}
        >
          <Stack gap={8}>
            <TextInput
              label="From"
              type="datetime-local"
              required
              value={from}
              onChange={(event) => setFrom(event.currentTarget.value)}
              data-autofocus
            />
            <TextInput
              label="To"
              type="datetime-local"
              required
              value={to}
              onChange={(event) => setTo(event.currentTarget.value)}
              error={from && to && Date.parse(from) >= Date.parse(to) ? 'Must be after From.' : undefined}
            />
            <Button type="submit" size="xs">
              Apply
            </Button>
          </Stack>
        </form>
      </Popover.Dropdown>
    </Popover>
  )
}
