import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type GetStatsRequest,
  Granularity,
  GroupBySchema,
  StatsGroupSchema,
  type StatsService,
  StatsTotalsSchema,
} from '../../gen/verdict/v1/stats_pb.ts'
import { accountOf } from '../caller.ts'
import type { Database } from '../db/connect.ts'
import { and, asc, eq } from '../db/drizzle.ts'
import { enumNames } from '../db/enum-names.ts'
import { domains } from '../db/schema.ts'
import { failField } from '../errors.ts'
import type { Breaker } from '../reputation/breaker.ts'
import { type GroupBy, readGroups, type StatisticsGroup } from '../reputation/group-statistics.ts'
import { simulatedId } from '../reputation/simulated.ts'
import { latencyPercentile, readStatistics, type Statistics, type StatisticsQuery } from '../reputation/statistics.ts'
import type { Backend } from './backend.ts'
import { readDomain, readEnum, readTenantFilter } from './listing/filters.ts'
import { granularityNames, readTimeText, refuseReversed, wholePeriods } from './listing/times.ts'
import { sendingNames } from './shown-domains.ts'

const groupByNames = enumNames(GroupBySchema)

export function createStatsService(backend: Backend): ServiceImpl<typeof StatsService> {
  return { getStats: (request, context) => getStats(backend, request, accountOf(context)) }
}

async function getStats({ db, read, clock, breaker }: Backend, request: GetStatsRequest, accountId: string) {
  const { granularity, by, ...query } = readQuery(request, accountId, clock.now())
  const { statistics, groups } = await read((db) => readBoth(db, query, by))
  const sending = await sendingOf(db, breaker, accountId, query.domain)
  const { from, to, stepMs } = query
  const percentile = (share: number) => latencyPercentile(statistics.latencies, share)
  return {
    from: timestampFromMs(from),
    to: timestampFromMs(to),
    granularity,
    totals: totalsOf(statistics),
    reasons: statistics.reasons,
    latencyMs: { p50: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99) },
    series: statistics.series.map(({ delivered, bounced, rejected }, i) => ({
      period: timestampFromMs(from + i * stepMs),
      sent: delivered + bounced,
      delivered,
      bounced,
      rejected,
    })),
    domains: sending,
    incomplete: statistics.isIncomplete || undefined,
    groups: groups.map(groupOf),
  }
}

function readQuery(request: GetStatsRequest, accountId: string, nowMs: number) {
  const { granularity = Granularity.DAY } = request
  readEnum('granularity', granularity, granularityNames)
  const fromMs = readTimeText('from', request.from)
  const toMs = readTimeText('to', request.to)
  refuseReversed(fromMs, toMs)
  const period = wholePeriods({ from: fromMs, to: toMs ?? nowMs, nowMs }, granularity)
  const domain = readDomain(request.domain)
  const tenantId = readTenantFilter(request.tenantId)
  const by = readEnum('by', request.by, groupByNames) as GroupBy | undefined
  if (by && granularity === Granularity.MINUTE) {
    throw failField('by', 'is counted by whole hours. Ask for another `granularity`, or leave out `by`')
  }
  const countedId = request.simulated ? simulatedId(accountId) : accountId
  return { accountId: countedId, ...period, domain, tenantId, granularity, by }
}

async function sendingOf(db: Database, breaker: Breaker, accountId: string, domain: string | undefined) {
  const filter = and(eq(domains.accountId, accountId), domain === undefined ? undefined : eq(domains.name, domain))
  const rows = await db.select({ name: domains.name }).from(domains).where(filter).orderBy(asc(domains.name))
  const names = rows.map(({ name }) => name)
  const states = await breaker.states(accountId, names)
  return names.map((name) => ({ domain: name, sending: sendingNames.value(states.get(name)!) }))
}

/** In one snapshot, so that the groups add up to the totals whatever is recorded meanwhile. */
async function readBoth(db: Database, query: StatisticsQuery, by: GroupBy | undefined) {
  if (by === undefined) return { statistics: await readStatistics(db, query), groups: [] }
  return db.$client.begin('isolation level repeatable read read only', async (tx) => {
    const statistics = await readStatistics(tx, query)
    return { statistics, groups: await readGroups(tx, query, by, statistics) }
  })
}

function groupOf({ key, delivered, bounced, rejected, complaints, inDoubt, reasons, latencies }: StatisticsGroup) {
  const counted = Object.entries(reasons).filter(([, emails]) => emails > 0)
  return create(StatsGroupSchema, {
    key,
    sent: delivered + bounced,
    delivered,
    bounced,
    rejected,
    complaints,
    inDoubt,
    p95Ms: latencyPercentile(latencies, 0.95),
    reasons: Object.fromEntries(counted),
  })
}

function totalsOf({ delivered, bounced, rejected, complaints, lateBounces }: Statistics) {
  const sent = delivered + bounced
  const rate = (count: number) => (sent === 0 ? undefined : count / sent)
  return create(StatsTotalsSchema, {
    sent,
    delivered,
    bounced,
    rejected,
    complaints,
    lateBounces,
    deliveryRate: rate(delivered),
    bounceRate: rate(bounced),
    complaintRate: rate(complaints),
  })
}
