import type { ReactNode } from 'react'
import type { RangeSearch } from '../range/presets.ts'
import { RangePicker } from '../range/range-picker.tsx'
import type { Filter } from './filter.ts'
import { FilterChips } from './filter-chips.tsx'
import styles from './filters.module.css'

interface FilterBarProps {
  filters: Filter[]
  /** The parameters of the page's address. */
  search: RangeSearch
  /** What the range is called that is not limited. */
  all?: string
  keptMs?: number
  /** Sets parameters, or removes them. */
  onChange(next: Record<string, string | undefined>): void
  /** More tools of the list. */
  children?: ReactNode
}

/** What a list is filtered by, its range, and its other tools. */
export function FilterBar({ filters, search, all = 'Any time', keptMs, onChange, children }: FilterBarProps) {
  return (
    <div className={styles.bar}>
      <FilterChips filters={filters} values={{ ...search }} onChange={(name, value) => onChange({ [name]: value })} />
      <div className={styles.tools}>
        <RangePicker value={search} all={all} keptMs={keptMs} onChange={(next) => onChange({ ...next })} />
        {children}
      </div>
    </div>
  )
}
