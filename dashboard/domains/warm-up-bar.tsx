import { Progress } from '@mantine/core'
import type { WarmUp } from '../../gen/verdict/v1/domains_pb.ts'
import { countOf } from '../numbers/quantities.ts'
import { Moment } from '../time/ago.tsx'
import styles from './domains.module.css'

/** How much of a young domain's daily volume is used. */
export function WarmUpBar({ warmUp: { day, dailyLimit, sentToday, completesAt } }: { warmUp: WarmUp }) {
  const percent = dailyLimit === 0 ? 100 : Math.min(100, (sentToday / dailyLimit) * 100)
  return (
    <section className={styles.warmUp} aria-label="Warm-up">
      <p>
        <strong>Warm-up, day {day}.</strong> {countOf(sentToday)} of {countOf(dailyLimit)} emails sent today (UTC).{' '}
        <span className="soft">
          Receivers trust a new domain slowly. The limit grows every day
          {completesAt && (
            <>
              {' '}
              and ends on <Moment at={completesAt} />
            </>
          )}
          .
        </span>
      </p>
      <Progress.Root size="sm">
        <Progress.Section value={percent} aria-label="Used today" />
      </Progress.Root>
    </section>
  )
}
