import { command, type Print } from './command.ts'
import { callApi, urlOption } from './service.ts'
import { NOT_COUNTED, table } from './table.ts'

/** The fields of the service's response that are printed as text. */
interface Limits {
  tier: string
  requests_per_minute: number
  sizes: Record<string, number>
  counts: Record<string, number>
  domains: { domain: string; daily_limit: number | null; sent_today: number }[]
}

export const limits = (print: Print) =>
  command('limits', 'verdict limits', 'verdict limits --json | jq .requests_per_minute')
    .summary('Show the limits of the account')
    .description(
      'Show the rate limit of the account, the sizes and counts of a request, and the daily volume of domains',
    )
    .addOption(urlOption())
    .action(async ({ url }) => {
      const response = await callApi({ url, path: '/api/v1/limits' })
      print({ json: response, text: describe(response as unknown as Limits) })
    })

function describe({ tier, requests_per_minute, sizes, counts, domains }: Limits): string {
  const rows = Object.entries({ ...counts, ...sizes }).map(([name, limit]) => [
    name.replaceAll('_', ' '),
    String(limit),
  ])
  const volumes = domains.map(({ domain, daily_limit, sent_today }) => {
    return [domain, String(sent_today), daily_limit === null ? 'no limit' : String(daily_limit)]
  })
  return [
    `Tier ${tier}: ${requests_per_minute} requests a minute\n`,
    table(['LIMIT OF A REQUEST', 'MOST'], rows, ''),
    '',
    table(['DOMAIN', 'SENT TODAY', 'DAILY LIMIT'], volumes, 'The account has no domain.'),
    ...(domains.some(({ sent_today }) => sent_today === 0) ? [NOT_COUNTED] : []),
  ].join('\n')
}
