import { command, type Print } from './command.ts'
import { callApi, urlOption } from './service.ts'
import { NOT_COUNTED, table } from './table.ts'

/** The fields of the service's response that are printed as text. */
interface PrintedLimits {
  tier: string
  requests_per_minute: number
  sizes: Record<string, number>
  counts: Record<string, number>
  domains: { domain: string; daily_limit: number | null; sent_today: number }[]
  month: {
    from: string
    ends_at: string
    quota: number | null
    used: number
    domains: { domain: string; sent: number; simulated: number }[]
  }
}

export const limitsCommand = (print: Print) =>
  command('limits', 'verdict limits', 'verdict limits --json | jq .requests_per_minute')
    .summary('Show the limits of the account')
    .description(
      'Show the rate limit of the account, the sizes and counts of a request, the daily volume of domains, and the usage of the month',
    )
    .addOption(urlOption())
    .action(async ({ url }) => {
      const response = await callApi({ url, path: '/api/v1/limits' })
      print({ json: response, text: limitsText(response as unknown as PrintedLimits) })
    })

function limitsText({ tier, requests_per_minute, sizes, counts, domains, month }: PrintedLimits): string {
  const rows = Object.entries({ ...counts, ...sizes }).map(([name, limit]) => [
    name.replaceAll('_', ' '),
    String(limit),
  ])
  const volumes = domains.map(({ domain, daily_limit, sent_today }) => {
    const { sent = 0, simulated = 0 } = month.domains.find((usage) => usage.domain === domain) ?? {}
    const limit = daily_limit === null ? 'no limit' : String(daily_limit)
    return [domain, String(sent_today), limit, String(sent), String(simulated)]
  })
  const heads = ['DOMAIN', 'SENT TODAY', 'DAILY LIMIT', 'SENT THIS MONTH', 'SIMULATED']
  return [
    `Tier ${tier}: ${requests_per_minute} requests a minute`,
    `${describeMonth(month)}\n`,
    table(['LIMIT OF A REQUEST', 'MOST'], rows, ''),
    '',
    table(heads, volumes, 'The account has no domain.'),
    ...(domains.some(({ sent_today }) => sent_today === 0) ? [NOT_COUNTED] : []),
  ].join('\n')
}

function describeMonth({ quota, used, ends_at }: PrintedLimits['month']): string {
  const end = `until ${ends_at.slice(0, 10)} 00:00 UTC`
  if (quota === null) return `This month: ${used} emails, without a quota, ${end}`
  return `This month: ${used} of ${quota} emails (${Math.floor((used / quota) * 100)} %), ${end}`
}
