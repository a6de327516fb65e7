import '@mantine/dates/styles.layer.css'
import { Button, Group, Stack } from '@mantine/core'
import { DatePicker, TimePicker } from '@mantine/dates'
import { useState } from 'react'
import { timeOf } from '../lists/read-filters.ts'
import type { RangeSearch } from './presets.ts'

const DAY_START = '00:00'
const DAY_END = '23:59'

/** Two days of a calendar, each with a time of the day, in the reader's zone. */
export function OwnRange({ value, onApply }: { value: RangeSearch; onApply(next: RangeSearch): void }) {
  const [given] = useState(() => ({ from: localOf(value.from), to: localOf(value.to) }))
  const [days, setDays] = useState<[string | null, string | null]>([given.from?.day ?? null, given.to?.day ?? null])
  const [fromTime, setFromTime] = useState(given.from?.time ?? DAY_START)
  const [toTime, setToTime] = useState(given.to?.time ?? DAY_END)
  const [firstDay, lastDay = firstDay] = [days[0], days[1] ?? undefined]
  const from = timeAt(firstDay, fromTime)
  const to = timeAt(lastDay ?? null, toTime)
  const isValid = from !== undefined && to !== undefined && from < to
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isValid) onApply({ from: from.toISOString(), to: to.toISOString() })
      }}
    >
      <Stack gap={8}>
        <DatePicker
          type="range"
          allowSingleDateInRange
          firstDayOfWeek={1}
          hideOutsideDates
          weekendDays={[]}
          maxDate={new Date()}
          defaultDate={firstDay ?? undefined}
          value={days}
          onChange={setDays}
          ariaLabels={LABELS}
          size="sm"
        />
        <Group gap={8} wrap="nowrap">
          <TimePicker label="From" value={fromTime} onChange={setFromTime} {...TIME_LABELS} size="xs" />
          <TimePicker label="To" value={toTime} onChange={setToTime} {...TIME_LABELS} size="xs" />
        </Group>
        <p className="faint" role="status">
          {!firstDay
            ? 'Choose one day, or the first and the last.'
            : isValid
              ? ZONE_WORDS
              : 'The end must be after the start.'}
        </p>
        <Button type="submit" size="xs" disabled={!isValid}>
          Apply
        </Button>
      </Stack>
    </form>
  )
}

const LABELS = { previousMonth: 'Previous month', nextMonth: 'Next month' }
const TIME_LABELS = { hoursInputLabel: 'Hours', minutesInputLabel: 'Minutes' }
const ZONE_WORDS = `Times are in your zone, ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`

/** A time as the fields have it: the day and the time of the day in the reader's zone. */
function localOf(time: string | undefined): { day: string; time: string } | undefined {
  const ms = timeOf(time)
  if (ms === undefined) return undefined
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString()
  return { day: local.slice(0, 10), time: local.slice(11, 16) }
}

/** The time that two fields name in the reader's zone; undefined while one of them is empty. */
function timeAt(day: string | null, time: string): Date | undefined {
  const at = new Date(`${day}T${time}`)
  return day === null || Number.isNaN(at.getTime()) ? undefined : at
}
