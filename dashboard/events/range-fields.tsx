import { Group, TextInput } from '@mantine/core'
import { localInput, timeOfInput } from '../time/local-input.ts'

interface RangeFieldsProps {
  /** Times in UTC, as the address of the page has them. */
  from: string | undefined
  to: string | undefined
  onChange(name: 'from' | 'to', time: string | undefined): void
}

const FIELDS = [
  ['from', 'From'],
  ['to', 'To'],
] as const

/** The start and the end of a range, in the reader's zone. */
export function RangeFields({ onChange, ...times }: RangeFieldsProps) {
  return (
    <Group gap="sm">
      {FIELDS.map(([name, label]) => (
        <TextInput
          key={name}
          type="datetime-local"
          label={label}
          value={localInput(times[name])}
          onChange={(event) => onChange(name, timeOfInput(event.currentTarget.value))}
        />
      ))}
    </Group>
  )
}
