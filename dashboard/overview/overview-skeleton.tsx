import { Skeleton } from '@mantine/core'
import { Loading, LoadingLines } from '../feedback/loading.tsx'
import figureStyles from './figures.module.css'
import styles from './overview.module.css'

/** The overview while it loads: the line of health, the figures, the charts. */
export function OverviewSkeleton() {
  return (
    <Loading>
      <div className={styles.health}>
        <Skeleton height={24} width={200} />
      </div>
      <FiguresSkeleton />
      <div className={styles.charts}>
        {PLACES.map((place) => (
          <div key={place}>
            <Skeleton height={12} width={120} mb={8} />
            <LoadingLines lines={2} />
            <Skeleton height="var(--plot)" mt={8} mb={24} />
          </div>
        ))}
      </div>
    </Loading>
  )
}

/** The four figures and the line of reasons, as high as they are later. */
export function FiguresSkeleton() {
  return (
    <div className={figureStyles.place}>
      <div className={figureStyles.figures}>
        {PLACES.map((place) => (
          <Skeleton key={place} height={102} radius="md" />
        ))}
      </div>
      <LoadingLines lines={1} />
    </div>
  )
}

const PLACES = [0, 1, 2, 3]
