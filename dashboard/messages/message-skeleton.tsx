import { Skeleton } from '@mantine/core'
import { Loading, LoadingLines } from '../feedback/loading.tsx'
import styles from './message.module.css'

/** The page of a message while it loads: the sentence, the recipients, the events, and the facts beside them. */
export function MessageSkeleton() {
  return (
    <Loading>
      <div className={styles.verdict}>
        <Skeleton height={24} width={180} />
        <Skeleton height={20} width="60%" my={4} />
        <LoadingLines lines={2} />
      </div>
      <div className={styles.columns}>
        <div className={styles.main}>
          <div className={styles.section}>
            <Skeleton height={16} width={96} mb={16} />
            <Skeleton height={360} radius="md" />
          </div>
          <Skeleton height={16} width={160} mb={16} />
          <Skeleton height={120} radius="md" />
        </div>
        <div>
          <LoadingLines lines={16} />
        </div>
      </div>
    </Loading>
  )
}
