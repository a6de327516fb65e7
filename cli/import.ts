import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { Option } from '@commander-js/extra-typings'
import { readAddressList } from '../address-files/address-list.ts'
import { AddressFileFault } from '../address-files/addresses.ts'
import { type Invalid, invalidOf, type Line } from '../address-files/import-preview.ts'
import { REQUEST_LIMITS } from '../server/config/limits.ts'
import { newId, publicId } from '../server/db/ids.ts'
import { SUPPRESSION_REASONS } from './choices.ts'
import { command, Failure, type Print } from './command.ts'
import { describePreview, previewOf } from './import-preview.ts'
import { type Counts, type ImportResponse, invalidText } from './import-response.ts'
import { callPatiently, urlOption } from './service.ts'

/** How many invalid lines the text output lists. `--json` lists all of them. */
const LISTED_ERRORS = 20

/** The sum of all responses so far, with line numbers. */
type ImportResult = Counts & { import_id: string; errors: Invalid[] }

export const importList = (print: Print) =>
  command(
    'import',
    'verdict import unsubscribed.csv --reason complaint',
    'verdict import bounces.csv --reason bounce --column email',
    'verdict import bounces.csv --dry-run',
    'cut -f2 export.tsv | verdict import - --tenant shop-1',
  )
    .summary('Import addresses into the suppression list')
    .description(
      'Import addresses into the suppression list: one address a line, a column of a CSV file, or the JSON of SES, ' +
        'SendGrid, Mailgun, Postmark or Resend. The heading of its column names the addresses. Use - to read standard ' +
        'input. Invalid lines are skipped and listed, and the exit code is then 1.',
    )
    .argument('<file>')
    .option('--column <column>', 'The name or the number of the CSV column that has the addresses')
    .option('--tenant <tenant_id>', 'Only for the sends of this tenant')
    .option('--dry-run', 'Count what the import would do, and import nothing')
    .addOption(
      new Option('--reason <reason>', 'Why they are suppressed').choices(SUPPRESSION_REASONS).default('import'),
    )
    .addOption(urlOption())
    .action(async (file, { column, tenant: tenant_id, reason, dryRun, url }) => {
      const lines = await addressesOf(file, column)
      const none = lines.length === 0 ? `${nameOf(file)} has no address: nothing was imported.` : undefined
      const send = async (part: Line[], more: object): Promise<ImportResponse> => {
        const body = { emails: part.map(({ email }) => email), tenant_id, reason, ...more }
        return (await callPatiently({ url, path: '/api/v1/suppression/import', body })) as unknown as ImportResponse
      }
      if (dryRun) {
        const preview = await previewOf(inChunks(lines, REQUEST_LIMITS.importAddresses), (part) =>
          send(part, { dry_run: true }),
        )
        print({ json: preview, text: none ?? describePreview(preview), exit: preview.invalid > 0 ? 'failed' : 'ok' })
        return
      }
      // One id for all requests, chosen here: a request whose response was lost belongs to the import too.
      const import_id = publicId('imp', newId(Date.now()))
      const result: ImportResult = { imported: 0, already_suppressed: 0, invalid: 0, total: 0, import_id, errors: [] }
      for (const part of inChunks(lines, REQUEST_LIMITS.importAddresses)) {
        const response = await send(part, { import_id }).catch((error) => {
          throw stopped(error, part[0]!, result)
        })
        add(result, part, response)
        console.error(`${result.total} read, up to line ${part.at(-1)!.line}`)
      }
      print({ json: result, text: none ?? describe(result), exit: result.invalid > 0 ? 'failed' : 'ok' })
    })

/** Adds the response to a request with these lines to the result. */
function add(result: ImportResult, lines: Line[], response: ImportResponse): void {
  for (const count of ['imported', 'already_suppressed', 'invalid', 'total'] as const) result[count] += response[count]
  result.errors.push(...invalidOf(lines, response.errors))
}

/** The error of a request, with the result of the requests before it: their addresses stay imported. */
function stopped(error: unknown, { line }: Line, result: ImportResult): unknown {
  if (!(error instanceof Failure) || result.total === 0) return error
  const progress = `The valid addresses before line ${line} are imported. It does no harm to import them again.`
  return new Failure(error.exit, [error.message, progress, describe(result)].join('\n'), { ...error.json, ...result })
}

function describe({ imported, already_suppressed, invalid, import_id, errors }: ImportResult): string {
  const counts = `${imported} imported, ${already_suppressed} already suppressed, ${invalid} skipped`
  const shown = errors.slice(0, LISTED_ERRORS).map(invalidText)
  const more = errors.length > LISTED_ERRORS ? [`  and ${errors.length - LISTED_ERRORS} more: --json lists them`] : []
  const undo = imported > 0 ? [`Undo it: verdict suppression undo ${import_id}`] : []
  return [counts, ...shown, ...more, ...undo].join('\n')
}

function* inChunks(lines: Line[], size: number): Generator<Line[]> {
  for (let at = 0; at < lines.length; at += size) yield lines.slice(at, at + size)
}

const nameOf = (file: string) => (file === '-' ? 'standard input' : file)

/** The addresses of a file with their line numbers; `-` is standard input. */
async function addressesOf(file: string, column: string | undefined): Promise<Line[]> {
  const bytes = await (file === '-' ? buffer(process.stdin) : readFile(file)).catch((error: Error) => {
    throw new Failure('usage', `${nameOf(file)} cannot be read: ${error.message}`)
  })
  try {
    return readAddressList(bytes, column).addresses.map(({ line, text }) => ({ line, email: text }))
  } catch (error) {
    if (error instanceof AddressFileFault) throw new Failure('usage', `${nameOf(file)}: ${error.message}`)
    throw error
  }
}
