import { Popover } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { lazy, Suspense } from 'react'
import { LoadingBlock } from '../feedback/loading.tsx'
import { timeOf } from '../lists/read-filters.ts'
import { minuteOf } from '../time/times.ts'
import { PRESETS, type RangeSearch } from './presets.ts'
import styles from './range.module.css'

const OwnRange = lazy(async () => ({ default: (await import('./own-range.tsx')).OwnRange }))

interface RangePickerProps {
  value: RangeSearch
  /** Is called with all three parameters, so that they replace those of the range before. */
  onChange(next: RangeSearch): void
  /** The label of the button that removes the range. Without it the page always has a range. */
  all?: string
  /** How long the rows of the page are kept, in milliseconds. Longer presets are left out. */
  keptMs?: number
}

/** The range of a page: one of the presets, or two times. */
export function RangePicker({ value, onChange, all, keptMs = Number.POSITIVE_INFINITY }: RangePickerProps) {
  const own = ownWords(value)
  const [opened, { toggle, close }] = useDisclosure()
  const choose = (next: RangeSearch) => onChange({ range: undefined, from: undefined, to: undefined, ...next })
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend that is seen
    <div className={styles.ranges} role="group" aria-label="Range">
      {all && (
        <button type="button" aria-pressed={!own && !value.range} onClick={() => choose({})}>
          <span className={styles.whole}>{all}</span>
          <span className={styles.short}>All</span>
        </button>
      )}
      {PRESETS.filter(([, , lengthMs]) => lengthMs < keptMs).map(([name, label]) => (
        <button
          key={name}
          type="button"
          aria-pressed={!own && value.range === name}
          onClick={() => choose({ range: name })}
        >
          <span className={styles.whole}>{label}</span>
          <span className={styles.short}>{name}</span>
        </button>
      ))}
      <Popover opened={opened} onChange={(next) => !next && close()} position="bottom-end" trapFocus>
        <Popover.Target>
          <button type="button" aria-pressed={own !== undefined} onClick={toggle} className={styles.own}>
            {own ?? 'Custom range'}
          </button>
        </Popover.Target>
        <Popover.Dropdown aria-label="Custom range">
          <Suspense fallback={<LoadingBlock height={380} />}>
            <OwnRange
              value={value}
              onApply={(next) => {
                choose(next)
                close()
              }}
            />
          </Suspense>
        </Popover.Dropdown>
      </Popover>
    </div>
  )
}

/** `22 Nov 2026, 15:05 to 23 Nov 2026, 15:05`; undefined when the address names no time. */
function ownWords({ range, from, to }: RangeSearch): string | undefined {
  const [fromMs, toMs] = [timeOf(from), timeOf(to)]
  if (range !== undefined) return undefined
  if (fromMs === undefined) return toMs === undefined ? undefined : `Until ${minuteOf(toMs)}`
  return toMs === undefined ? `Since ${minuteOf(fromMs)}` : `${minuteOf(fromMs)} to ${minuteOf(toMs)}`
}
