import { Skeleton } from '@mantine/core'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import type { OverviewPeriod } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { type Column, Rows } from '../lists/rows.tsx'
import { present } from '../present.ts'
import { Moment } from '../time/ago.tsx'
import { msOf } from '../time/ms-of.ts'
import styles from './overview.module.css'
import type { ChartLine, ChartMark } from './plot.tsx'
import type { ChartColumns } from './series.ts'

const Plot = lazy(() => import('./plot.tsx'))

export interface Value {
  label: string
  color: string
  /** Lengths of the strokes and gaps of a line; empty for a solid line, absent for bars. */
  dash?: number[]
  hatched?: boolean
  /** The value of one period in words. */
  of(period: OverviewPeriod): string
}

interface ChartProps {
  title: string
  /** What the whole range adds up to, or a sentence. */
  summary?: ReactNode
  periods: OverviewPeriod[]
  columns: ChartColumns
  lines: ChartLine[]
  /** What is shown of the period under the pointer, and in the table. */
  values: Value[]
  /** What is said when there is no value in the whole range. */
  empty: string
  /** More about the period under the pointer. */
  more?(period: OverviewPeriod): ReactNode
  stepMs: number
  word(value: number): string
  marks?: ChartMark[]
  /** The top of the axis, at least. */
  leastTop?: number
  onOpen?(period: OverviewPeriod): void
}

/** A chart with its heading, the values under the pointer, and the same values as a table. */
export function Chart(props: ChartProps) {
  const { title, summary, periods, columns, lines, values, empty, more, stepMs, word, marks, leastTop, onOpen } = props
  const [at, setAt] = useState<number>()
  const isEmpty = columns.slice(1).every((column) => column.every((value) => !value))
  const period = at === undefined ? undefined : periods[at]
  return (
    <section className={styles.chart} aria-label={title}>
      <header className={styles.chartHead}>
        <h2>{title}</h2>
        {period && <Moment at={period.period} />}
      </header>
      <div className={styles.readout}>
        {period ? (
          <>
            {values.map((value) => (
              <span key={value.label} className={styles.value}>
                <Sign value={value} /> {value.label} {value.of(period)}
              </span>
            ))}
            {more?.(period)}
          </>
        ) : (
          <>
            {values.map((value) => (
              <span key={value.label} className={styles.value}>
                <Sign value={value} /> {value.label}
              </span>
            ))}
            {summary && <span className="soft">{summary}</span>}
          </>
        )}
      </div>
      {isEmpty ? (
        <p className={styles.none}>{empty}</p>
      ) : (
        <Suspense fallback={<Skeleton className={styles.plot} />}>
          <Plot
            columns={columns}
            lines={lines}
            stepMs={stepMs}
            word={word}
            marks={marks}
            leastTop={leastTop}
            onPoint={setAt}
            onOpen={onOpen && ((index) => onOpen(present(periods[index])))}
          />
        </Suspense>
      )}
      <details className={styles.table}>
        <summary>Show as a table</summary>
        <Rows
          label={title}
          columns={[PERIOD, ...values.map(columnOf)]}
          rows={periods}
          idOf={({ period }) => String(msOf(period))}
        />
      </details>
    </section>
  )
}

const PERIOD: Column<OverviewPeriod> = { head: 'Period', cell: ({ period }) => <Moment at={period} /> }

const columnOf = ({ label, of }: Value): Column<OverviewPeriod> => ({ head: label, numbers: true, cell: of })

/** What a line or a bar looks like. The variable is set through the element's style object, which the policy allows. */
function Sign({ value: { color, dash, hatched } }: { value: Value }) {
  if (dash) {
    return (
      <svg className={styles.stroke} viewBox="0 0 16 8" style={{ color: `var(${color})` }} aria-hidden>
        <path d="M0 4h16" stroke="currentColor" strokeWidth={2} strokeDasharray={dash.join(' ')} />
      </svg>
    )
  }
  return <span className={styles.dot} data-hatched={hatched} style={{ color: `var(${color})` }} aria-hidden />
}
