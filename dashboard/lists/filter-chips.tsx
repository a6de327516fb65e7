import { Button, Popover, Stack, TextInput } from '@mantine/core'
import { IconAlertTriangle, IconFilterPlus, IconX } from '@tabler/icons-react'
import { lazy, Suspense, useState } from 'react'
import type { Filter } from './filter.ts'
import styles from './filters.module.css'
import { UNKNOWN } from './read-filters.ts'

const Suggestions = lazy(async () => ({ default: (await import('./suggestions.tsx')).Suggestions }))

interface FilterChipsProps {
  filters: Filter[]
  /** The parameters of the page's address. */
  values: Record<string, string | undefined>
  /** Sets one parameter, or removes it. */
  onChange(name: string, value: string | undefined): void
}

/** The active filters of a list, each removed by itself, and the button that adds one. */
export function FilterChips({ filters, values, onChange }: FilterChipsProps) {
  const active = filters.filter(({ name }) => values[name])
  return (
    <div className={styles.chips}>
      {values[UNKNOWN] && (
        <button
          type="button"
          className={styles.chip}
          data-unknown
          aria-label={`${values[UNKNOWN]} is not understood: remove it`}
          onClick={() => onChange(UNKNOWN, undefined)}
        >
          <IconAlertTriangle size={14} aria-hidden />
          <span>Not understood</span> <bdi>{values[UNKNOWN]}</bdi>
          <IconX size={12} aria-hidden />
        </button>
      )}
      {active.map((filter) => (
        <button
          key={filter.name}
          type="button"
          className={styles.chip}
          aria-label={`${filter.label} ${wordOf(filter, values)}: remove the filter`}
          onClick={() => onChange(filter.name, undefined)}
        >
          <span className="soft">{filter.label}</span> <bdi>{wordOf(filter, values)}</bdi>
          <IconX size={12} aria-hidden />
        </button>
      ))}
      <AddFilter filters={filters.filter(({ name }) => !values[name])} onAdd={onChange} />
      {active.length > 1 && (
        <button
          type="button"
          className={styles.clear}
          onClick={() => {
            for (const { name } of active) onChange(name, undefined)
          }}
        >
          Remove all
        </button>
      )}
    </div>
  )
}

function wordOf({ name, choices, nameOf }: Filter, { [name]: value = '' }: FilterChipsProps['values']): string {
  return choices?.find(([choice]) => choice === value)?.[1] ?? nameOf?.(value) ?? value
}

function AddFilter({ filters, onAdd }: { filters: Filter[]; onAdd(name: string, value: string): void }) {
  const [opened, setOpened] = useState(false)
  const [chosen, setChosen] = useState<Filter>()
  const close = () => {
    setOpened(false)
    setChosen(undefined)
  }
  const add = (value: string) => {
    if (chosen && value !== '') onAdd(chosen.name, value)
    close()
  }
  if (filters.length === 0) return null
  return (
    <Popover opened={opened} onChange={(next) => (next ? setOpened(true) : close())} position="bottom-start" trapFocus>
      <Popover.Target>
        <Button
          variant="default"
          size="xs"
          leftSection={<IconFilterPlus size={14} aria-hidden />}
          onClick={() => (opened ? close() : setOpened(true))}
        >
          Add filter
        </Button>
      </Popover.Target>
      <Popover.Dropdown p={8} aria-label="Add filter">
        {!chosen && <ChoiceList choices={filters.map(({ name, label }) => [name, label])} onChoose={choose} />}
        {chosen?.choices && <ChoiceList choices={chosen.choices} onChoose={add} />}
        {chosen && !chosen.choices && <TypedValue filter={chosen} onApply={add} />}
      </Popover.Dropdown>
    </Popover>
  )

  function choose(name: string) {
    setChosen(filters.find((filter) => filter.name === name))
  }
}

function ChoiceList({ choices, onChoose }: { choices: [string, string][]; onChoose(value: string): void }) {
  return (
    <div className={styles.choices}>
      {choices.map(([value, word], at) => (
        <button
          key={value}
          type="button"
          className={styles.choice}
          onClick={() => onChoose(value)}
          data-autofocus={at === 0 || undefined}
        >
          {word}
        </button>
      ))}
    </div>
  )
}

function TypedValue({ filter, onApply }: { filter: Filter; onApply(value: string): void }) {
  const [value, setValue] = useState('')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onApply(value.trim())
      }}
    >
      <Stack gap={8}>
        <TextInput
          label={filter.label}
          placeholder={filter.placeholder}
          pattern={filter.pattern}
          title={filter.patternWords}
          value={value}
          onChange={(event) => setValue(event.currentTarget.value)}
          spellCheck={false}
          autoFocus
        />
        {filter.known !== undefined && (
          <Suspense>
            <Suggestions by={filter.known} nameOf={filter.nameOf} text={value} onChoose={onApply} />
          </Suspense>
        )}
        <Button type="submit" size="xs">
          Apply
        </Button>
      </Stack>
    </form>
  )
}
