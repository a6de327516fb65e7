import { Progress } from '@mantine/core'
import type { DomainUsage, MonthUsage } from '../../gen/verdict/v1/limits_pb.ts'
import { isNearQuota } from '../account/quota.ts'
import { type Column, Rows } from '../lists/rows.tsx'
import { countOf } from '../numbers/quantities.ts'
import { Moment } from '../time/ago.tsx'
import styles from './settings.module.css'

/** What the account has sent this month, and its quota. */
export function MonthSection({ month }: { month: MonthUsage }) {
  const { quota, used, domains } = month
  return (
    <section className={styles.section}>
      <h2>This month</h2>
      <p className="soft">
        {quota === undefined
          ? `${countOf(used)} emails, without a quota.`
          : `${countOf(used)} of ${countOf(quota)} emails.`}{' '}
        Dry runs and mail to the simulator do not count. The month ends at <Moment at={month.endsAt} />.
        {quota !== undefined && (
          <>
            {' '}
            Above the quota, sends fail with <code>rate_limit_exceeded</code> until then.
          </>
        )}
      </p>
      {quota !== undefined && <QuotaBar used={used} quota={quota} />}
      {domains.length > 0 && (
        <Rows label="Emails of this month" columns={COLUMNS} rows={domains} idOf={({ domain }) => domain} />
      )}
    </section>
  )
}

function QuotaBar({ used, quota }: { used: number; quota: number }) {
  const share = used / quota
  const label = `Used of the quota: ${Math.floor(share * 100)} %`
  return (
    <Progress.Root size="lg" maw={480} mb="md" aria-label={label}>
      <Progress.Section
        value={Math.min(100, share * 100)}
        color={share >= 1 ? 'red' : isNearQuota({ used, quota }) ? 'orange' : undefined}
        aria-label={label}
      />
    </Progress.Root>
  )
}

const COLUMNS: Column<DomainUsage>[] = [
  { head: 'Domain', bare: true, wide: true, cell: ({ domain }) => domain },
  { head: 'Sent', numbers: true, cell: ({ sent }) => countOf(sent) },
  { head: 'To the simulator', numbers: true, cell: ({ simulated }) => countOf(simulated) },
]
