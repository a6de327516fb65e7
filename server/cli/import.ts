import { createReadStream } from 'node:fs'
import { command, Failure } from './command.ts'
import { callPatiently, urlOption } from './service.ts'

/** What one request of the interface takes. */
const BATCH = 10_000
/** What was skipped is shown up to here; `--json` has all of it. */
const SHOWN = 20

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

/** What the service answers. */
type Imported = Counts & { errors: { index: number; email: string; error: string }[] }

/** What became of all lines so far. */
type Sum = Counts & { errors: (Line & { error: string })[] }

export const importList = command({
  summary: 'Import addresses that must not be mailed: one a line, or the first column of a CSV file.',
  words: ['file'],
  options: {
    tenant: { type: 'string', value: 'tenant_id', help: 'for the sends of this tenant alone' },
    reason: { type: 'string', value: 'reason', help: 'bounce, complaint, import or manual; import when left out' },
    url: urlOption,
  },
  examples: [
    'verdict import unsubscribed.csv --reason complaint',
    'cut -f2 export.tsv | verdict import - --tenant shop-1',
  ],
  async run({ tenant: tenant_id, reason, url }, [file]) {
    const sum: Sum = { imported: 0, already_suppressed: 0, invalid: 0, total: 0, errors: [] }
    for await (const batch of batches(addressesOf(file!))) {
      const body = { emails: batch.map(({ email }) => email), tenant_id, reason }
      const call = callPatiently({ url, path: '/api/v1/suppression/import', body })
      const answer = (await call.catch((error) => stopped(error, batch[0]!, sum.total))) as unknown as Imported
      for (const count of ['imported', 'already_suppressed', 'invalid', 'total'] as const) sum[count] += answer[count]
      for (const { index, email, error } of answer.errors) sum.errors.push({ line: batch[index]!.line, email, error })
      console.error(`${sum.total} read, up to line ${batch.at(-1)!.line}`)
    }
    if (sum.total === 0) throw new Failure('usage', `There is no address in ${file === '-' ? 'the input' : file}.`)
    return { json: sum, text: describe(sum), exit: sum.invalid > 0 ? 'failed' : 'ok' }
  },
})

/** Says how far it came, for what is imported stays imported. */
function stopped(error: unknown, { line }: Line, done: number): never {
  if (!(error instanceof Failure) || done === 0) throw error
  const again = `Everything before line ${line} is imported; it does no harm to import it again.`
  throw new Failure(error.exit, `${error.message}\n${again}`, error.json)
}

function describe({ imported, already_suppressed, invalid, errors }: Sum): string {
  const counts = `${imported} imported, ${already_suppressed} already suppressed, ${invalid} skipped`
  const shown = errors
    .slice(0, SHOWN)
    .map(({ line, email, error }) => `  line ${line}: ${error}: ${JSON.stringify(email)}`)
  const more = errors.length > SHOWN ? [`  and ${errors.length - SHOWN} more: --json names them`] : []
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

/** The addresses of a file, `-` being the standard input, with their lines. Empty lines and a heading are passed over. */
async function* addressesOf(file: string): AsyncGenerator<Line> {
  const input = file === '-' ? process.stdin : createReadStream(file)
  let line = 0
  try {
    for await (const text of linesOf(input.setEncoding('utf8'))) {
      const email = firstColumn(++line === 1 ? text.replace(/^\ufeff/, '') : text)
      const isHeading = line === 1 && /^(e-?mail|address|recipient)[^@]*$/i.test(email)
      if (email !== '' && !isHeading) yield { line, email }
    }
  } catch (error) {
    throw new Failure('usage', `${file} cannot be read: ${(error as Error).message}`)
  }
}

async function* linesOf(input: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of input) {
    const lines = (rest + chunk).split(/\r?\n/)
    rest = lines.pop()!
    yield* lines
  }
  yield rest
}

/** The first column of a line with commas, semicolons or tabs, without its quotes. Those of `"a b"@example.com` are its own. */
export function firstColumn(line: string): string {
  const quoted = /^\s*"((?:[^"]|"")*)"\s*(?:[,;\t]|$)/.exec(line)?.[1]
  if (quoted !== undefined) return quoted.replaceAll('""', '"').trim()
  return /^(?:\s*"(?:[^"\\]|\\.)*"@)?[^,;\t]*/.exec(line)![0].trim()
}
