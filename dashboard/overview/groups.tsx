import { useQuery } from '@connectrpc/connect-query'
import { keepPreviousData } from '@tanstack/react-query'
import { useState } from 'react'
import { Granularity, GroupBy, type StatsGroup, StatsService } from '../../gen/verdict/v1/stats_pb.ts'
import { useAccount } from '../account/account.ts'
import { ErrorState } from '../feedback/error-state.tsx'
import { LoadingBlock } from '../feedback/loading.tsx'
import { type Column, RowLink, Rows } from '../lists/rows.tsx'
import { countOf, percentOf } from '../numbers/quantities.ts'
import { reasonWord } from '../status/reasons.ts'
import tabStyles from '../tabs/tabs.module.css'
import { lengthOf } from '../time/times.ts'
import { rankedReasons } from './comparison.ts'
import styles from './figures.module.css'
import { messagesIn, type Range, timesOf } from './range.ts'

const REFRESH_MS = 60_000
/** Stands for every value without a row of its own. */
const OTHER = 'other'

interface Grouping {
  by: GroupBy
  label: string
  /** The row of emails that have no value. */
  none: string
  /** The filter of the list of messages; absent for providers, which no list knows. */
  filter?: string
}

const GROUPINGS: [Grouping, ...Grouping[]] = [
  { by: GroupBy.PROVIDER, label: 'Mailbox provider', none: 'No mail server' },
  { by: GroupBy.RECIPIENT_DOMAIN, label: 'Recipient domain', none: 'None', filter: 'recipient_domain' },
  { by: GroupBy.TAG, label: 'Tag', none: 'Without a tag', filter: 'tag' },
  { by: GroupBy.TENANT, label: 'Tenant', none: 'Without a tenant', filter: 'tenant' },
]

/** How the emails of the range fared at each mailbox provider or recipient domain, and with each tag or tenant. */
export function Groups({ range, simulated }: { range: Range; simulated: boolean }) {
  const [grouping, setGrouping] = useState(GROUPINGS[0])
  const request = { ...timesOf(range), granularity: Granularity.TOTAL, by: grouping.by, simulated }
  const stats = useQuery(StatsService.method.getStats, request, {
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  })
  return (
    <section className={styles.groups} aria-label="Groups">
      <h2>Where emails went</h2>
      {range.granularity === Granularity.MINUTE && <p className="faint">Counted by whole hours.</p>}
      <div className={tabStyles.tabs} role="tablist">
        {GROUPINGS.map((each) => (
          <button
            key={each.label}
            type="button"
            role="tab"
            className={tabStyles.tab}
            aria-selected={each === grouping}
            onClick={() => setGrouping(each)}
          >
            {each.label}
          </button>
        ))}
      </div>
      {stats.error && !stats.data ? (
        <ErrorState error={stats.error} retry={() => void stats.refetch()} />
      ) : !stats.data ? (
        <LoadingBlock height={200} />
      ) : stats.data.groups.length === 0 ? (
        <p className="faint">No email in this range.</p>
      ) : (
        <GroupTable grouping={grouping} groups={stats.data.groups} messages={messagesIn(range, simulated)} />
      )}
    </section>
  )
}

interface GroupTableProps {
  grouping: Grouping
  groups: StatsGroup[]
  /** The filters of the list of messages that all groups have in common. */
  messages: Record<string, string>
}

function GroupTable({ grouping, groups, messages }: GroupTableProps) {
  const { membership } = useAccount()
  const { by, filter, label, none } = grouping
  const name = (key: string) => {
    const word = key === '' ? none : key === OTHER ? 'Other' : by === GroupBy.PROVIDER ? providerName(key) : key
    if (filter === undefined || key === '' || key === OTHER) return word
    return (
      <RowLink
        to="/$account/messages"
        params={{ account: membership.accountId }}
        search={{ ...messages, [filter]: key }}
      >
        {word}
      </RowLink>
    )
  }
  const columns: Column<StatsGroup>[] = [
    { head: label, bare: true, wide: true, cell: ({ key }) => name(key) },
    { head: 'Sent', numbers: true, cell: ({ sent }) => countOf(sent) },
    {
      head: 'Delivered',
      numbers: true,
      cell: ({ sent, delivered }) => (sent === 0 ? '-' : percentOf(delivered / sent)),
    },
    { head: 'Most frequent reason', cell: ({ reasons }) => topReason(reasons) },
    { head: '95 % within', numbers: true, cell: ({ p95Ms }) => (p95Ms === undefined ? '-' : lengthOf(p95Ms)) },
  ]
  return <Rows label={label} columns={columns} rows={groups} idOf={({ key }) => `group ${key}`} />
}

function topReason(reasons: Record<string, number>): string {
  const [top] = rankedReasons(reasons)
  return top ? `${reasonWord(top[0])} (${countOf(top[1])})` : '-'
}

/** `Google` for `google`. The site of a provider without a name is written as it is. */
const providerName = (key: string) =>
  key === 'gmx' ? 'GMX' : key.includes('.') ? key : key.charAt(0).toUpperCase() + key.slice(1)
