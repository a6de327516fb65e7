import type { TransactionSql } from 'postgres'
import { LATENCY_COLUMNS } from '../db/latency-buckets.ts'
import { GROUP_COUNTS } from '../db/schema.ts'
import { run } from '../db/statement.ts'
import { addUp, BOUNCED, DAY_ROWS, OTHER_TENANTS, REASONS, REJECTED, SENT } from './counts.ts'
import { openRows, type Statistics, type StatisticsQuery } from './statistics.ts'

// Groups of statistics: the same counts for each provider, domain, tag, tenant or reason.

/** A response has at most this many, and one more for the rest. */
const MOST_GROUPS = 100
/** Stands for every value without its own group. */
const OTHER = 'other'

/** What the emails of a group have in common. */
export type GroupBy = 'provider' | 'domain' | 'recipient_domain' | 'tag' | 'tenant' | 'reason'

export type GroupCounts = Pick<
  Statistics,
  'delivered' | 'bounced' | 'rejected' | 'complaints' | 'inDoubt' | 'reasons' | 'latencies'
>

export interface StatisticsGroup extends GroupCounts {
  key: string
}

type Row = Record<string, number> & { key: string }

const COLUMNS = GROUP_COUNTS.join(', ')
const RANGE = 'hour >= to_timestamp($3::int8) and hour < to_timestamp($4::int8)'
const FILTER = '($5::text is null or domain = $5)'
const HOURS = `hourly_stats where account_id = $1 and ${RANGE} and ${FILTER}`

/** SQL: the rows of each kind of group, as `key` and the counts. Rows of one key are added up. */
const ROWS: Record<Exclude<GroupBy, 'reason'>, string> = {
  domain: `select domain as key, ${COLUMNS} from ${HOURS} and tenant_id = $2`,
  // What is counted for no tenant is what is left of the account's own rows.
  tenant: `
    select case when tenant_id = $2 then $2 else tenant_id end as key, ${COLUMNS} from ${HOURS}
      and (tenant_id = $2 or $2 = '' and tenant_id not in ('${DAY_ROWS}', '${OTHER_TENANTS}'))
    union all
    select '', ${GROUP_COUNTS.map((column) => `-${column}`).join(', ')} from ${HOURS}
      and $2 = '' and tenant_id not in ('', '${DAY_ROWS}')`,
  provider: storedRows('provider'),
  recipient_domain: storedRows('recipient_domain'),
  tag: storedRows('tag'),
}

function storedRows(groupedBy: string): string {
  return `
    select key, ${COLUMNS} from group_stats
    where account_id = $1 and grouped_by = '${groupedBy}' and tenant_id = $2 and ${RANGE} and ${FILTER}
    union all
    select ${groupedBy}, ${COLUMNS} from (${openRows(groupedBy, `and ${FILTER}`)}) as open_group`
}

const groupsOf = (rows: string) => `
  with summed as (select key, ${addUp(GROUP_COUNTS)} from (${rows}) as r where key <> '${OTHER}' group by key)
  select key, (${BOUNCED})::float8 as bounced, (${REJECTED})::float8 as rejected,
    ${GROUP_COUNTS.map((column) => `${column}::float8`).join(', ')}
  from summed where ${SENT} + ${REJECTED} + complaints > 0
  order by ${SENT} + ${REJECTED} desc, key limit ${MOST_GROUPS}`

/**
 * Reads the groups of the emails that `totals` counts, those with the most emails first. Their counts add up to
 * `totals`, which is read in the same snapshot.
 */
export async function readGroups(
  tx: TransactionSql,
  { accountId, from, to, domain, tenantId = '' }: StatisticsQuery,
  by: GroupBy,
  totals: Statistics,
): Promise<StatisticsGroup[]> {
  if (by === 'reason') return reasonGroups(totals)
  const parameters = [accountId, tenantId, from / 1_000, to / 1_000, domain ?? null]
  const groups = (await run<Row>(tx, groupsOf(ROWS[by]), parameters)).map(groupOf)
  const other = groups.reduce(without, totals)
  return isEmpty(other) ? groups : [...groups, { ...other, key: OTHER }]
}

function groupOf({ key, ...counts }: Row): StatisticsGroup {
  const count = (column: string) => counts[column] ?? 0
  return {
    key,
    delivered: count('delivered'),
    bounced: count('bounced'),
    rejected: count('rejected'),
    complaints: count('complaints'),
    inDoubt: count('in_doubt'),
    reasons: Object.fromEntries(REASONS.map((reason) => [reason, count(reason)])),
    latencies: LATENCY_COLUMNS.map(count),
  }
}

function reasonGroups({ reasons, inDoubt }: Statistics): StatisticsGroup[] {
  return Object.entries(reasons)
    .filter(([, emails]) => emails > 0)
    .map(([reason, emails]) => {
      const isRejection = REJECTED.split(' + ').includes(reason)
      return {
        key: reason,
        delivered: 0,
        bounced: isRejection ? 0 : emails,
        rejected: isRejection ? emails : 0,
        complaints: 0,
        inDoubt: reason === 'connection_timeout' ? inDoubt : 0,
        reasons: { [reason]: emails },
        latencies: [],
      }
    })
    .sort((a, b) => b.bounced + b.rejected - a.bounced - a.rejected)
}

/** A tenant whose hour lost its row has fewer emails in the totals than in its groups: no count is below zero. */
const less = (all: number, part: number) => Math.max(0, all - part)

function without(all: GroupCounts, part: StatisticsGroup): GroupCounts {
  const { delivered, bounced, rejected, complaints, inDoubt, reasons, latencies } = part
  return {
    delivered: less(all.delivered, delivered),
    bounced: less(all.bounced, bounced),
    rejected: less(all.rejected, rejected),
    complaints: less(all.complaints, complaints),
    inDoubt: less(all.inDoubt, inDoubt),
    reasons: Object.fromEntries(
      Object.entries(all.reasons).map(([reason, n]) => [reason, less(n, reasons[reason] ?? 0)]),
    ),
    latencies: all.latencies.map((n, bucket) => less(n, latencies[bucket] ?? 0)),
  }
}

const isEmpty = ({ delivered, bounced, rejected, complaints }: GroupCounts) =>
  delivered + bounced + rejected + complaints === 0
