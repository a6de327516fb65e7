import { Option } from '@commander-js/extra-typings'
import { GroupBySchema } from '../gen/verdict/v1/stats_pb.ts'
import { shortNames } from '../server/db/enum-names.ts'
import { command, type Print } from './command.ts'
import { callApi, query, urlOption } from './service.ts'
import { NOT_COUNTED, table } from './table.ts'

/** The fields of the service's response that are printed as text. */
interface Stats {
  from: string
  to: string
  totals: {
    sent: number
    delivered: number
    bounced: number
    rejected: number
    complaints: number
    late_bounces: number
    delivery_rate: number | null
    bounce_rate: number | null
    complaint_rate: number | null
  }
  reasons: Record<string, number>
  latency_ms: { p50: number | null; p95: number | null; p99: number | null }
  series: { period: string; sent: number; delivered: number; bounced: number; rejected: number }[]
  domains: { domain: string; sending: string }[]
  incomplete?: boolean
  groups?: StatsGroup[]
}

interface StatsGroup {
  key: string
  sent: number
  delivered: number
  bounced: number
  rejected: number
  complaints: number
  p95_ms: number | null
  reasons: Record<string, number>
}

export const statsCommand = (print: Print) =>
  command(
    'stats',
    'verdict stats',
    'verdict stats --by provider --granularity total',
    'verdict stats --from 2026-01-31 --granularity hour --domain example.com --json',
  )
    .summary('Show statistics of sent emails')
    .description('Show counts, rates, reasons and latencies of sent emails. Times are UTC.')
    .option(
      '--from <time>',
      'The start, such as 2026-01-31 or 2026-01-31T12:00:00Z; by default seven days before the end',
    )
    .option('--to <time>', 'The end, which is not included; by default now')
    .addOption(
      new Option('--granularity <length>', 'The length of a period').choices(['minute', 'hour', 'day', 'total']),
    )
    .addOption(
      new Option('--by <value>', 'Also show the counts of each provider, each domain, and so on').choices(
        shortNames(GroupBySchema),
      ),
    )
    .option('--domain <domain>', 'Only emails from this domain')
    .option('--tenant <tenant_id>', 'Only emails of this tenant')
    .option('--simulated', 'Only emails to the simulator, which are counted apart from all others')
    .addOption(urlOption())
    .action(async ({ url, tenant: tenant_id, simulated, ...filters }) => {
      const path = `/api/v1/stats${query({ ...filters, tenant_id, simulated: simulated ? 'true' : undefined })}`
      const response = await callApi({ url, path })
      print({ json: response, text: statsText(response as unknown as Stats, simulated ? [] : [NOT_COUNTED]) })
    })

/** `notes` are printed when nothing was sent. */
function statsText(stats: Stats, notes: readonly string[]): string {
  const { from, to, totals, reasons, latency_ms, series, domains, incomplete, groups } = stats
  const counts = Object.entries(reasons).filter(([, count]) => count > 0)
  const { p50, p95, p99 } = latency_ms
  return [
    `${from} to ${to}: ${totals.sent} sent`,
    `  delivered  ${totals.delivered}${share(totals.delivery_rate)}`,
    `  bounced    ${totals.bounced}${share(totals.bounce_rate)}, and ${totals.late_bounces} late`,
    `  complaints ${totals.complaints}${share(totals.complaint_rate)}`,
    `  rejected   ${totals.rejected}`,
    ...(totals.sent === 0 ? notes : []),
    ...(counts.length > 0 ? [`Reasons: ${counts.map(([reason, count]) => `${reason} ${count}`).join(', ')}`] : []),
    ...(p50 === null ? [] : [`Time to the outcome: p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms`]),
    ...domains.filter(({ sending }) => sending !== 'active').map(({ domain, sending }) => `${domain} is ${sending}.`),
    ...(incomplete
      ? ['Counts of this tenant may be missing: the account had more than 1,000 tenants in an hour.']
      : []),
    ...(groups?.length ? ['', groupTable(groups)] : []),
    ...(series.length > 1 ? ['', periods(series)] : []),
  ].join('\n')
}

/** The periods in which something happened. */
function periods(series: Stats['series']): string {
  const busy = series.filter(({ sent, rejected }) => sent > 0 || rejected > 0)
  const rows = busy.map(({ period, ...counts }) => [period, ...Object.values(counts).map(String)])
  return table(['PERIOD', 'SENT', 'DELIVERED', 'BOUNCED', 'REJECTED'], rows, 'Nothing was sent.')
}

function groupTable(groups: StatsGroup[]): string {
  const rows = groups.map(({ key, sent, delivered, bounced, rejected, complaints, p95_ms, reasons }) => [
    key || '(none)',
    ...[sent, delivered, bounced, rejected, complaints, p95_ms ?? '-', topReason(reasons)].map(String),
  ])
  return table(['GROUP', 'SENT', 'DELIVERED', 'BOUNCED', 'REJECTED', 'COMPLAINTS', 'P95 MS', 'TOP REASON'], rows, '')
}

const topReason = (reasons: Record<string, number>) =>
  Object.entries(reasons).reduce((top, each) => (each[1] > top[1] ? each : top), ['-', 0] as [string, number])[0]

const share = (rate: number | null) => (rate === null ? '' : ` (${(rate * 100).toFixed(2)} %)`)
