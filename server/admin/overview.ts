import { create } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type DomainRates,
  DomainRatesSchema,
  type GetOverviewRequest,
  type OverviewPeriod,
  OverviewPeriodSchema,
  type OverviewService,
  type WebhookState,
  WebhookStateSchema,
} from '../../gen/verdict/admin/v1/overview_pb.ts'
import { Granularity } from '../../gen/verdict/v1/stats_pb.ts'
import { accountOf } from '../caller.ts'
import type { Database } from '../db/connect.ts'
import { asc, eq } from '../db/drizzle.ts'
import { publicId } from '../db/ids.ts'
import { domains } from '../db/schema.ts'
import { failField } from '../errors.ts'
import type { Breaker } from '../reputation/breaker.ts'
import { type PeriodStatistics, readPeriods } from '../reputation/period-statistics.ts'
import { readQuotaUse } from '../reputation/quota.ts'
import { type RefusingProvider, readRefusingProviders } from '../reputation/refusing-providers.ts'
import { simulatedId } from '../reputation/simulated.ts'
import { latencyPercentile } from '../reputation/statistics.ts'
import { readWorstRates, type WorstRates } from '../reputation/worst-rates.ts'
import type { Backend } from '../services/backend.ts'
import { readEnum } from '../services/listing/filters.ts'
import { granularityNames, readTime, refuseReversed, wholePeriods } from '../services/listing/times.ts'
import { ourNames } from '../services/our-names.ts'
import { sendingNames } from '../services/shown-domains.ts'
import {
  type AttemptCounts,
  attemptsOf,
  type EndpointHealth,
  healthsOf,
} from '../webhooks/endpoints/endpoint-health.ts'
import { type Endpoint, findEndpoints } from '../webhooks/endpoints/endpoints.ts'
import { countRefused } from './count-refused.ts'
import { readSetUp } from './set-up.ts'

const DAY_MS = 86_400_000

type OverviewParts = Pick<Backend, 'db' | 'read' | 'clock' | 'breaker' | 'limits' | 'hosts'>

export function createOverviewService(parts: OverviewParts): ServiceImpl<typeof OverviewService> {
  return {
    getOverview: (request, context) => getOverview(parts, request, accountOf(context)),
    getSetUp: (_, context) => readSetUp(parts.db, parts.clock, accountOf(context)),
  }
}

async function getOverview(parts: OverviewParts, request: GetOverviewRequest, accountId: string) {
  const { db, read, clock, breaker, limits, hosts } = parts
  const { from, to, granularity, simulated } = request
  readEnum('granularity', granularity, granularityNames)
  if (granularity === Granularity.TOTAL) throw failField('granularity', 'must be minute, hour or day')
  // Attempts are counted by the hour.
  const hasAttempts = granularity !== Granularity.MINUTE
  const asked = { from: required('from', from), to: required('to', to), nowMs: clock.now() }
  refuseReversed(asked.from, asked.to)
  const periods = wholePeriods(asked, granularity)
  const counted = { accountId: simulated ? simulatedId(accountId) : accountId, ...periods }
  const statistics = await read((db) => readPeriods(db, counted))
  const worst = await read((db) => readWorstRates(db, counted, limits.breaker.minEmails))
  const attempts = hasAttempts ? await read((db) => attemptsOf(db, { accountId, ...periods })) : []
  const rates = await ratesOf(db, breaker, accountId)
  const endpoints = await endpointStates(db, accountId)
  const quota = await readQuotaUse(db, limits, accountId, clock.now())
  const refusedSends = await countRefused(db, accountId, clock.now() - DAY_MS)
  const refusing = await readRefusingProviders(db, { accountId, nowMs: clock.now(), ours: ourNames(hosts) })
  const startOf = (i: number) => timestampFromMs(periods.from + i * periods.stepMs)
  return {
    periods: statistics.map((period, i) => periodOf(startOf(i), period, worst[i]!, attempts[i])),
    latencyMs: percentilesOf(addUp(statistics.map(({ latencies }) => latencies))),
    domains: rates,
    thresholds: limits.breaker,
    endpoints,
    inDoubt: statistics.reduce((sum, { inDoubt }) => sum + inDoubt, 0),
    refusedSends,
    refusingProviders: refusing.map(shownRefusing),
    quota: quota && { quota: quota.monthlyLimit, used: quota.used, endsAt: timestampFromMs(quota.endsAtMs) },
  }
}

function required(field: string, time: Timestamp | undefined): number {
  const ms = readTime(field, time)
  if (ms === undefined) throw failField(field, 'is required')
  return ms
}

function periodOf(
  period: Timestamp,
  statistics: PeriodStatistics,
  worst: WorstRates,
  attempts: AttemptCounts | undefined,
): OverviewPeriod {
  const { latencies, ...counts } = statistics
  return create(OverviewPeriodSchema, {
    period,
    ...counts,
    latencyMs: percentilesOf(latencies),
    acknowledged: attempts?.acknowledged,
    notAcknowledged: attempts?.failed,
    worstBounceRate: worst.bounces ?? undefined,
    worstComplaintRate: worst.complaints ?? undefined,
  })
}

function percentilesOf(latencies: number[]) {
  const percentile = (share: number) => latencyPercentile(latencies, share)
  return { p50: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99) }
}

const addUp = (rows: number[][]): number[] => rows.reduce((sums, row) => sums.map((sum, i) => sum + row[i]!))

const shownRefusing = ({ provider, sinceMs, emails, blocked, newest }: RefusingProvider) => ({
  ...{ provider, since: timestampFromMs(sinceMs), emails, blocked },
  ...(newest && { reply: newest.reply, messageId: publicId('msg', newest.messageId), names: newest.names }),
})

async function ratesOf(db: Database, breaker: Breaker, accountId: string): Promise<DomainRates[]> {
  const rows = await db
    .select({ name: domains.name })
    .from(domains)
    .where(eq(domains.accountId, accountId))
    .orderBy(asc(domains.name))
  const names = rows.map(({ name }) => name)
  const rates = await breaker.rates(accountId, names)
  return names.map((domain) => {
    const { sending, emails, bounces, complaints } = rates.get(domain)!
    const share = (count: number) => (emails === 0 ? 0 : count / emails)
    return create(DomainRatesSchema, {
      domain,
      sending: sendingNames.value(sending),
      emails,
      bounceRate: share(bounces),
      complaintRate: share(complaints),
    })
  })
}

async function endpointStates(db: Database, accountId: string): Promise<WebhookState[]> {
  const endpoints = await findEndpoints(db, accountId)
  const healths = await healthsOf(db, accountId, endpoints)
  return endpoints.map((endpoint, i) => stateOf(endpoint, healths[i]!))
}

function stateOf({ id, url, description, disabled }: Endpoint, health: EndpointHealth): WebhookState {
  const time = (ms: number | null) => (ms === null ? undefined : timestampFromMs(ms))
  return create(WebhookStateSchema, {
    endpointId: publicId('whk', id),
    url,
    description: description ?? undefined,
    disabled,
    waiting: health.waiting,
    oldestWaiting: time(health.oldestWaitingMs),
    lastAcknowledgedAt: time(health.lastSuccessMs),
    lastFailedAt: time(health.lastFailureMs),
    failedSince: health.consecutiveFailures,
  })
}
