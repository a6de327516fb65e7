import { Skeleton } from '@mantine/core'
import { useEffect, useState } from 'react'
import styles from './feedback.module.css'

const USUAL_MS = 3_000

/** Says that loading takes longer than usual, once it does. */
export function SlowNote() {
  const [slow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), USUAL_MS)
    return () => clearTimeout(timer)
  }, [])
  return slow && <p className="soft">This takes longer than usual.</p>
}

/** The rows of a list that loads. */
export function LoadingRows({ rows = 6 }: { rows?: number }) {
  return (
    <div className={styles.rows} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
        <div key={row} className={styles.row}>
          <Skeleton height={12} width={`${80 - ((row * 17) % 40)}%`} />
        </div>
      ))}
      <SlowNote />
    </div>
  )
}

/** A block of known height that loads, so that nothing moves when it arrives. */
export function LoadingBlock({ height }: { height: number }) {
  return (
    <div role="status" aria-label="Loading">
      <Skeleton height={height} />
      <SlowNote />
    </div>
  )
}
