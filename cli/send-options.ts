import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Failure } from './command.ts'

// The options of `send` whose values are not sent as they were given.

/** Reads `Name: value` of each custom header. */
export const readHeaders = (texts: string[] | undefined) => readPairs(texts, ':', '--header "X-Order: 1234"')

/** Reads `key=value` of each pair of metadata. */
export const readMetadata = (texts: string[] | undefined) => readPairs(texts, '=', '--metadata order=1234')

/** The name ends at the first separator. JSON would keep only the last of two values of one name. */
function readPairs(texts: string[] | undefined, separator: string, example: string) {
  const option = example.split(' ', 1)[0]
  const pairs = new Map<string, string>()
  for (const text of texts ?? []) {
    const end = text.indexOf(separator)
    if (end < 1) throw new Failure('usage', `${option} ${text}: the ${separator} is missing. Expected ${example}`)
    const name = text.slice(0, end).trim()
    if (pairs.has(name)) throw new Failure('usage', `${option} ${text}: ${name} is given twice.`)
    pairs.set(name, text.slice(end + 1).trim())
  }
  return texts && Object.fromEntries(pairs)
}

export const readFiles = (files: string[] | undefined) => files && Promise.all(files.map(attachmentOf))

async function attachmentOf(file: string) {
  const content = await readFile(file).catch((error: Error) => {
    throw new Failure('usage', `--attach ${file}: cannot be read: ${error.message}`)
  })
  return { filename: basename(file), content: content.toString('base64') }
}

export function readKey(key: string): string {
  if (/^[ -~]{1,256}$/.test(key)) return key
  throw new Failure('usage', '--idempotency-key must be 1 to 256 printable ASCII characters.')
}
