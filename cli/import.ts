import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { Option } from '@commander-js/extra-typings'
import { readAddressList } from '../address-files/address-list.ts'
import { AddressFileFault } from '../address-files/addresses.ts'
import { REQUEST_LIMITS } from '../server/config/limits.ts'
import { SUPPRESSION_REASONS } from './choices.ts'
import { command, Failure, type Print } from './command.ts'
import { callPatiently, urlOption } from './service.ts'

/** How many invalid lines the text output lists. `--json` lists all of them. */
const LISTED_ERRORS = 20

interface Line {
  /** The line's number in the file, from 1. */
  line: number
  email: string
}

interface Counts {
  imported: number
  already_suppressed: number
  invalid: number
  total: number
}

/** The response to one request. `index` is an address's position in the request. */
type ImportResponse = Counts & { errors: { index: number; email: string; error: string }[] }

/** The sum of all responses so far, with line numbers. */
type ImportResult = Counts & { errors: (Line & { error: string })[] }

export const importList = (print: Print) =>
  command(
    'import',
    'verdict import unsubscribed.csv --reason complaint',
    'verdict import bounces.csv --reason bounce --column email',
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
    .addOption(
      new Option('--reason <reason>', 'Why they are suppressed').choices(SUPPRESSION_REASONS).default('import'),
    )
    .addOption(urlOption())
    .action(async (file, { column, tenant: tenant_id, reason, url }) => {
      const result: ImportResult = { imported: 0, already_suppressed: 0, invalid: 0, total: 0, errors: [] }
      for (const lines of inChunks(await addressesOf(file, column), REQUEST_LIMITS.importAddresses)) {
        const body = { emails: lines.map(({ email }) => email), tenant_id, reason }
        const call = callPatiently({ url, path: '/api/v1/suppression/import', body })
        const response = await call.catch((error) => {
          throw stopped(error, lines[0]!, result)
        })
        add(result, lines, response as unknown as ImportResponse)
        console.error(`${result.total} read, up to line ${lines.at(-1)!.line}`)
      }
      const text = result.total === 0 ? `${nameOf(file)} has no address: nothing was imported.` : describe(result)
      print({ json: result, text, exit: result.invalid > 0 ? 'failed' : 'ok' })
    })

/** Adds the response to a request with these lines to the result. */
function add(result: ImportResult, lines: Line[], response: ImportResponse): void {
  for (const count of ['imported', 'already_suppressed', 'invalid', 'total'] as const) result[count] += response[count]
  for (const { index, email, error } of response.errors) result.errors.push({ line: lines[index]!.line, email, error })
}

/** The error of a request, with the result of the requests before it: their addresses stay imported. */
function stopped(error: unknown, { line }: Line, result: ImportResult): unknown {
  if (!(error instanceof Failure) || result.total === 0) return error
  const progress = `The valid addresses before line ${line} are imported. It does no harm to import them again.`
  return new Failure(error.exit, [error.message, progress, describe(result)].join('\n'), { ...error.json, ...result })
}

function describe({ imported, already_suppressed, invalid, errors }: ImportResult): string {
  const counts = `${imported} imported, ${already_suppressed} already suppressed, ${invalid} skipped`
  const shown = errors
    .slice(0, LISTED_ERRORS)
    .map(({ line, email, error }) => `  line ${line}: ${error}: ${JSON.stringify(email)}`)
  const more = errors.length > LISTED_ERRORS ? [`  and ${errors.length - LISTED_ERRORS} more: --json lists them`] : []
  return [counts, ...shown, ...more].join('\n')
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
