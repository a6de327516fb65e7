import { useQuery } from '@connectrpc/connect-query'
import { keepPreviousData } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Granularity, GroupBy, type StatsGroup, StatsService } from '../../gen/verdict/v1/stats_pb.ts'
import { useAccount } from '../account/account.ts'
import { ErrorState } from '../feedback/error-state.tsx'
import { LoadingBlock } from '../feedback/loading.tsx'
import { type Column, RowLink, Rows } from '../lists/rows.tsx'
import { OTHER_GROUP, providerName } from '../numbers/groups.ts'
import { countOf, percentOf } from '../numbers/quantities.ts'
import { reasonWord } from '../status/reasons.ts'
import tabStyles from '../tabs/tabs.module.css'
import { lengthOf } from '../time/times.ts'
import { rankedReasons } from './comparison.ts'
import styles from './figures.module.css'
import { messagesIn, type TimeRange, timesOf } from './range.ts'

const REFRESH_MS = 60_000

interface Grouping {
  by: GroupBy
  label: string
  /** The row of emails that have no value. */
  none: string
  /** The filter of the list of messages that a row leads to. That of a provider has only what the provider bounced. */
  filter: 'bounced_by' | 'recipient_domain' | 'tag' | 'tenant'
  /** Whether the list of events has the filter, too. */
  ofEvents?: boolean
}

const GROUPINGS: [Grouping, ...Grouping[]] = [
  { by: GroupBy.PROVIDER, label: 'Mailbox provider', none: 'No server asked', filter: 'bounced_by' },
  { by: GroupBy.RECIPIENT_DOMAIN, label: 'Recipient domain', none: 'None', filter: 'recipient_domain' },
  { by: GroupBy.TAG, label: 'Tag', none: 'Without a tag', filter: 'tag', ofEvents: true },
  { by: GroupBy.TENANT, label: 'Tenant', none: 'Without a tenant', filter: 'tenant', ofEvents: true },
]

/** How the emails of the range fared at each mailbox provider or recipient domain, and with each tag or tenant. */
export function GroupStatistics({ range, simulated }: { range: TimeRange; simulated: boolean }) {
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
        <GroupTable grouping={grouping} groups={stats.data.groups} range={range} simulated={simulated} />
      )}
    </section>
  )
}

interface GroupTableProps {
  grouping: Grouping
  groups: StatsGroup[]
  range: TimeRange
  simulated: boolean
}

function GroupTable({ grouping: { by, filter, label, none, ofEvents }, groups, range, simulated }: GroupTableProps) {
  const { membership } = useAccount()
  const params = { account: membership.accountId }
  /** The filters of the list of messages that all rows have in common. */
  const common = messagesIn(range, simulated)
  const isProvider = by === GroupBy.PROVIDER
  const hasList = ({ key, bounced }: StatsGroup) => key !== '' && key !== OTHER_GROUP && (!isProvider || bounced > 0)

  function name(group: StatsGroup) {
    const { key } = group
    const word = key === '' ? none : key === OTHER_GROUP ? 'Other' : isProvider ? providerName(key) : key
    if (!hasList(group)) return word
    return (
      <RowLink to="/$account/messages" params={params} search={{ ...common, [filter]: key }}>
        {word}
      </RowLink>
    )
  }

  function topReason(group: StatsGroup) {
    const top = rankedReasons(group.reasons)[0]
    if (!top) return '-'
    const [reason, emails] = top
    const words = `${reasonWord(reason)} (${countOf(emails)})`
    if (!hasList(group)) return words
    return (
      <Link
        to="/$account/messages"
        params={params}
        search={{ ...common, [filter]: group.key, reason }}
        className="text-link"
      >
        {words}
      </Link>
    )
  }

  function complaints(group: StatsGroup) {
    if (!ofEvents || group.complaints === 0 || !hasList(group)) return countOf(group.complaints)
    const search = { ...timesOf(range), feedback: 'complaint', [filter]: group.key }
    return (
      <Link to="/$account/events" params={params} search={search} className="text-link">
        {countOf(group.complaints)}
      </Link>
    )
  }

  const columns: Column<StatsGroup>[] = [
    { head: label, bare: true, wide: true, cell: name },
    { head: 'Sent', numbers: true, cell: ({ sent }) => countOf(sent) },
    {
      head: 'Delivered',
      numbers: true,
      cell: ({ sent, delivered }) => (sent === 0 ? '-' : percentOf(delivered / sent)),
    },
    { head: 'Complaints', numbers: true, cell: complaints },
    { head: 'Most frequent reason', cell: topReason },
    { head: '95 % within', numbers: true, cell: ({ p95Ms }) => (p95Ms === undefined ? '-' : lengthOf(p95Ms)) },
  ]
  return <Rows label={label} columns={columns} rows={groups} idOf={({ key }) => `group ${key}`} />
}
