import { Skeleton } from '@mantine/core'
import styles from './feedback.module.css'

/** The rows of a list that loads. */
export function LoadingRows({ rows = 6 }: { rows?: number }) {
  return (
    <div className={styles.rows} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
        <Skeleton key={row} height={20} width={`${92 - ((row * 17) % 40)}%`} />
      ))}
    </div>
  )
}

/** A block of known height that loads, so that nothing moves when it arrives. */
export function LoadingBlock({ height }: { height: number }) {
  return (
    <div role="status" aria-label="Loading">
      <Skeleton height={height} />
    </div>
  )
}
