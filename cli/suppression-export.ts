import { Option } from '@commander-js/extra-typings'
import { csvLine } from '../address-files/csv-line.ts'
import { command, type Print } from './command.ts'
import { writePieces, wroteTo } from './output-file.ts'
import { callPatiently, query, urlOption } from './service.ts'
import type { PrintedEntry } from './suppression-entry.ts'

const PAGE = '1000'
const OF_ENTRY = ['email', 'scope', 'tenant_id', 'reason', 'message_id', 'detail', 'created_at', 'expires_at'] as const
const OF_EVIDENCE = [
  ...(['kind', 'decided_by', 'words', 'code', 'enhanced', 'reply', 'read_as', 'phase', 'last_delivered_at'] as const),
]

export const exportSuppressionsCommand = (print: Print) =>
  command(
    'export',
    'verdict suppression export --format csv --output suppressed.csv',
    'verdict suppression export --format json | jq .[].email',
  )
    .summary('Write the whole suppression list of the account')
    .description('Write all entries of the account and its tenants that are in force, newest first.')
    .addOption(
      new Option('--format <format>', 'The format: csv with one line for each entry, or json')
        .choices(['csv', 'json'])
        .default('csv'),
    )
    .option('--output <file>', 'The file to write, which must not exist yet; by default standard output')
    .addOption(urlOption())
    .action(async ({ format, output, url }) => {
      let entries = 0
      async function* pages(): AsyncIterable<PrintedEntry[]> {
        for (let cursor: string | undefined, more = true; more; ) {
          const page = await callPatiently({ url, path: `/api/v1/suppression${query({ limit: PAGE, cursor })}` })
          entries += (page.entries as PrintedEntry[]).length
          yield page.entries as PrintedEntry[]
          cursor = page.next_cursor as string | undefined
          more = cursor !== undefined
        }
      }
      await writePieces(output, format === 'csv' ? csvOf(pages()) : jsonOf(pages()))
      const where = output ?? 'standard output'
      print(wroteTo(output, { json: { entries, output: where }, text: `Wrote ${entries} entries to ${where}.` }))
    })

async function* csvOf(pages: AsyncIterable<PrintedEntry[]>) {
  yield csvLine([...OF_ENTRY, ...OF_EVIDENCE])
  for await (const entries of pages)
    yield entries
      .map((entry) =>
        csvLine([...OF_ENTRY.map((name) => entry[name]), ...OF_EVIDENCE.map((name) => entry.evidence?.[name])]),
      )
      .join('')
}

async function* jsonOf(pages: AsyncIterable<PrintedEntry[]>) {
  let before = '['
  for await (const entries of pages)
    for (const entry of entries) {
      yield `${before}\n${JSON.stringify(entry)}`
      before = ','
    }
  yield before === '[' ? '[]\n' : '\n]\n'
}
