import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Command, Option } from '@commander-js/extra-typings'
import { REQUEST_LIMITS } from '../server/config/limits.ts'
import { SUPPRESSION_REASONS } from './choices.ts'
import { examples, Failure, type Print } from './command.ts'
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
  new Command('import')
    .summary('Import addresses into the suppression list')
    .description(
      'Import addresses into the suppression list: one address a line, or the first column of a CSV file. ' +
        'Use - to read standard input. Invalid lines are skipped and listed, and the exit code is then 1.',
    )
    .argument('<file>')
    .option('--tenant <tenant_id>', 'Only for the sends of this tenant')
    .addOption(
      new Option('--reason <reason>', 'Why they are suppressed').choices(SUPPRESSION_REASONS).default('import'),
    )
    .addOption(urlOption())
    .addHelpText(
      'after',
      examples(
        'verdict import unsubscribed.csv --reason complaint',
        'cut -f2 export.tsv | verdict import - --tenant shop-1',
      ),
    )
    .action(async (file, { tenant: tenant_id, reason, url }) => {
      const result: ImportResult = { imported: 0, already_suppressed: 0, invalid: 0, total: 0, errors: [] }
      for await (const lines of inChunks(addressesOf(file), REQUEST_LIMITS.importAddresses)) {
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

async function* inChunks(lines: AsyncIterable<Line>, size: number): AsyncGenerator<Line[]> {
  let chunk: Line[] = []
  for await (const line of lines) {
    if (chunk.push(line) < size) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}

const nameOf = (file: string) => (file === '-' ? 'standard input' : file)

/** The addresses of a file with their line numbers; `-` is standard input. Skips empty lines and a CSV header. */
async function* addressesOf(file: string): AsyncGenerator<Line> {
  const input = file === '-' ? process.stdin : createReadStream(file)
  let line = 0
  try {
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      const email = firstColumn(++line === 1 ? text.replace(/^\ufeff/, '') : text)
      const isHeader = line === 1 && /^(e-?mail|address|recipient)[^@]*$/i.test(email)
      if (email !== '' && !isHeader) yield { line, email }
    }
  } catch (error) {
    throw new Failure('usage', `${nameOf(file)} cannot be read: ${(error as Error).message}`)
  }
}

/**
 * The first column of a line, up to a comma, semicolon or tab. Quotes have two meanings:
 *
 * - Around the whole column they are those of CSV: they are removed, and `""` stands for `"`.
 * - Around a local part, as in `"a,b"@example.com`, they belong to the address, and a separator within them does too.
 */
export function firstColumn(line: string): string {
  const quoted = /^\s*"((?:[^"]|"")*)"\s*(?:[,;\t]|$)/.exec(line)?.[1]
  if (quoted !== undefined) return quoted.replaceAll('""', '"').trim()
  return /^(?:\s*"(?:[^"\\]|\\.)*"@)?[^,;\t]*/.exec(line)![0].trim()
}
