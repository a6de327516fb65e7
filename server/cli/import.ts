import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Command } from '@commander-js/extra-typings'
import { examples, Failure, type Print } from './command.ts'
import { callPatiently, urlOption } from './service.ts'

/** The most addresses that one request may hold. */
const BATCH = 10_000
/** The text shows this many of the skipped lines; `--json` has them all. */
const SHOWN_ERRORS = 20

interface Line {
  line: number
  email: string
}

interface Counts {
  imported: number
  already_suppressed: number
  invalid: number
  total: number
}

/** The service's response. */
type BatchResult = Counts & { errors: { index: number; email: string; error: string }[] }

/** The result of all batches so far. */
type ImportResult = Counts & { errors: (Line & { error: string })[] }

export const importList = (print: Print) =>
  new Command('import')
    .summary('Import addresses into the suppression list')
    .description(
      'Import addresses into the suppression list: one address a line, or the first column of a CSV file. ' +
        'The file - is the standard input.',
    )
    .argument('<file>')
    .option('--tenant <tenant_id>', 'Only for the sends of this tenant')
    .option('--reason <reason>', 'bounce, complaint, import or manual; by default import')
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
      for await (const batch of batches(addressesOf(file))) {
        const body = { emails: batch.map(({ email }) => email), tenant_id, reason }
        const call = callPatiently({ url, path: '/api/v1/suppression/import', body })
        const response = await call.catch((error) => stopped(error, batch[0]!, result.total))
        add(result, batch, response as unknown as BatchResult)
        console.error(`${result.total} read, up to line ${batch.at(-1)!.line}`)
      }
      if (result.total === 0) throw new Failure('usage', `There is no address in ${file === '-' ? 'the input' : file}.`)
      print({ json: result, text: describe(result), exit: result.invalid > 0 ? 'failed' : 'ok' })
    })

function add(result: ImportResult, batch: Line[], response: BatchResult): void {
  for (const count of ['imported', 'already_suppressed', 'invalid', 'total'] as const) result[count] += response[count]
  for (const { index, email, error } of response.errors) result.errors.push({ line: batch[index]!.line, email, error })
}

/** Adds to the error how far the import came: what is imported stays imported. */
function stopped(error: unknown, { line }: Line, done: number): never {
  if (!(error instanceof Failure) || done === 0) throw error
  const progress = `Everything before line ${line} is imported. Importing it again does no harm.`
  throw new Failure(error.exit, `${error.message}\n${progress}`, error.json)
}

function describe({ imported, already_suppressed, invalid, errors }: ImportResult): string {
  const counts = `${imported} imported, ${already_suppressed} already suppressed, ${invalid} skipped`
  const shown = errors
    .slice(0, SHOWN_ERRORS)
    .map(({ line, email, error }) => `  line ${line}: ${error}: ${JSON.stringify(email)}`)
  const more = errors.length > SHOWN_ERRORS ? [`  and ${errors.length - SHOWN_ERRORS} more: --json lists them`] : []
  return [counts, ...shown, ...more].join('\n')
}

async function* batches(lines: AsyncIterable<Line>): AsyncGenerator<Line[]> {
  let batch: Line[] = []
  for await (const line of lines) {
    if (batch.push(line) < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** The addresses of a file with their line numbers; `-` is the standard input. Skips empty lines and a heading. */
async function* addressesOf(file: string): AsyncGenerator<Line> {
  const input = file === '-' ? process.stdin : createReadStream(file)
  let line = 0
  try {
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      const email = firstColumn(++line === 1 ? text.replace(/^\ufeff/, '') : text)
      const isHeading = line === 1 && /^(e-?mail|address|recipient)[^@]*$/i.test(email)
      if (email !== '' && !isHeading) yield { line, email }
    }
  } catch (error) {
    throw new Failure('usage', `${file} cannot be read: ${(error as Error).message}`)
  }
}

/**
 * The first column of a line with commas, semicolons or tabs, without the quotes around it. The quotes in
 * `"a b"@example.com` are part of the address.
 */
export function firstColumn(line: string): string {
  const quoted = /^\s*"((?:[^"]|"")*)"\s*(?:[,;\t]|$)/.exec(line)?.[1]
  if (quoted !== undefined) return quoted.replaceAll('""', '"').trim()
  return /^(?:\s*"(?:[^"\\]|\\.)*"@)?[^,;\t]*/.exec(line)![0].trim()
}
