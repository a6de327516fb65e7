import { Skeleton } from '@mantine/core'
import { Loading } from '../feedback/loading.tsx'
import styles from './inbox.module.css'

/** A message of the inbox while it loads: its facts, the tabs, and its text. */
export function InboxMessageSkeleton() {
  return (
    <Loading>
      <div className={styles.facts}>
        {[160, 200, 80, 64, 160].map((width, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the facts do not change
          <Skeleton key={at} height={32} width={width} />
        ))}
      </div>
      <Skeleton height={32} width={280} mb={16} />
      <Skeleton height={400} />
    </Loading>
  )
}
