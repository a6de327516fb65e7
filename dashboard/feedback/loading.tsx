import { Skeleton } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import styles from './feedback.module.css'

const USUAL_MS = 3_000

/** Says that loading takes longer than usual, once it does. */
export function SlowNote() {
  const [slow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), USUAL_MS)
    return () => clearTimeout(timer)
  }, [])
  return slow && <p className={`soft ${styles.slow}`}>This takes longer than usual.</p>
}

/** What is shown while a page or a part of it loads, in the shape of what comes. */
export function Loading({ children }: { children: ReactNode }) {
  return (
    <div role="status" aria-label="Loading">
      <div aria-hidden>{children}</div>
      <SlowNote />
    </div>
  )
}

/** Lines of text that load, each of another width. */
export function LoadingLines({ lines }: { lines: number }) {
  return Array.from({ length: lines }, (_, line) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike
    <div key={line} className={styles.line}>
      <Skeleton height={12} width={widthOf(line)} />
    </div>
  ))
}

const widthOf = (line: number) => `${80 - ((line * 17) % 40)}%`

/** The sections of a page that loads: of each a heading, a sentence, and as many rows. */
export function LoadingSections({ rows }: { rows: number[] }) {
  return (
    <Loading>
      {rows.map((length, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the sections do not change
        <div key={at} className={styles.section}>
          <Skeleton height={16} width={120} />
          <Skeleton height={12} width="60%" mt={16} mb={16} />
          {Array.from({ length }, (_, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
            <div key={row} className={styles.row}>
              <Skeleton height={12} width={widthOf(row)} />
            </div>
          ))}
        </div>
      ))}
    </Loading>
  )
}

/** A block of known height that loads, so that nothing moves when it arrives. */
export function LoadingBlock({ height }: { height: number }) {
  return (
    <Loading>
      <Skeleton height={height} />
    </Loading>
  )
}
