import { Option } from '@commander-js/extra-typings'
import { PUBLIC_ERRORS } from '../server/errors.ts'
import { command, type Print } from './command.ts'
import { callApi, query, urlOption } from './service.ts'
import { pageText, table } from './table.ts'

/** The fields of the service's response that are printed as text. */
interface PrintedRefusedSend {
  at: string
  error: string
  message: string
  from?: string
  recipients: string[]
  request_id: string
  count: number
}

export const refusedSendsCommand = (print: Print) =>
  command(
    'refused-sends',
    'verdict refused-sends --error rate_limit_exceeded',
    'verdict refused-sends --recipient ann@example.com --json | jq -r .refused_sends[].request_id',
  )
    .summary('List sends that ended with an error')
    .description(
      'List the sends of the last 7 days that ended with an error before there was an email, newest first. Nothing was sent: the program that made them must send them again.',
    )
    .option('--recipient <address>', 'Only to this recipient')
    .addOption(new Option('--error <error>', 'Only with this error').choices(Object.keys(PUBLIC_ERRORS)))
    .option('--from <time>', 'Only from this time on, such as 2026-01-31 or 2026-01-31T12:00:00Z')
    .option('--to <time>', 'Only before this time')
    .option('--limit <number>', 'How many to list, from 1 to 100; by default 50')
    .option('--cursor <cursor>', 'The next_cursor of the previous page')
    .addOption(urlOption())
    .action(async ({ url, ...filters }) => {
      const json = await callApi({ url, path: `/api/v1/refused-sends${query(filters)}` })
      const { refused_sends: refused, not_stored } = json as { refused_sends: PrintedRefusedSend[]; not_stored: number }
      const rows = refused.map((one) => [
        one.at,
        String(one.count),
        one.from ?? '-',
        one.recipients.join(', ') || '-',
        one.error,
        one.message,
        one.request_id,
      ])
      const list = table(
        ['AT', 'COUNT', 'FROM', 'TO', 'ERROR', 'WHY', 'REQUEST'],
        rows,
        'No send was refused in the last 7 days.',
      )
      const more = not_stored > 0 ? `\n\n${not_stored} more of the last 7 days were not stored.` : ''
      print({ json, text: `${pageText(list, json)}${more}` })
    })
