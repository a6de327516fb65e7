import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { calendarMethods } from '../mail/mime/calendar.ts'
import { CliError } from './command.ts'

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
    if (end < 1) throw new CliError('usage', `${option} ${text}: the ${separator} is missing. Expected ${example}`)
    const name = text.slice(0, end).trim()
    if (pairs.has(name)) throw new CliError('usage', `${option} ${text}: ${name} is given twice.`)
    pairs.set(name, text.slice(end + 1).trim())
  }
  return texts && Object.fromEntries(pairs)
}

export const readFiles = (files: string[] | undefined) => files && Promise.all(files.map(attachmentOf))

/** `data.bin;type=application/pdf` gives the file a media type. */
async function attachmentOf(given: string) {
  const [, file, content_type] = /^(.*?)(?:;type=(.*))?$/s.exec(given) as unknown as [string, string, string?]
  return { filename: basename(file), content: (await bytesOf('--attach', file)).toString('base64'), content_type }
}

/** An invitation: mail programs want the METHOD of the calendar in its media type, too. */
export async function readCalendar(file: string) {
  const content = await bytesOf('--calendar', file)
  const [method] = calendarMethods(content)
  if (!method) throw new CliError('usage', `--calendar ${file}: has no METHOD, such as METHOD:REQUEST.`)
  const content_type = `text/calendar; method=${method}`
  return { filename: basename(file), content: content.toString('base64'), content_type }
}

export const readMime = async (file: string | undefined) =>
  file === undefined ? undefined : (await bytesOf('--raw', file)).toString('base64')

interface RequiredParts {
  raw?: string
  from?: string
  to?: string[]
  subject?: string
}

/** A message has a sender and a subject of its own, unless it is given whole. */
export function requireParts({ raw, from, to, subject }: RequiredParts): void {
  const required = raw === undefined ? { from, to, subject } : { to }
  const missing = Object.entries(required).filter(([, value]) => value === undefined)
  if (missing.length === 0) return
  const options = missing.map(([name]) => `--${name}`).join(', ')
  const hint = 'Only a message of --raw has a sender and a subject of its own.'
  throw new CliError('usage', `verdict send: missing required options: ${options}. ${hint}\nSee: verdict send --help`)
}

function bytesOf(option: string, file: string): Promise<Buffer> {
  return readFile(file).catch((error: Error) => {
    throw new CliError('usage', `${option} ${file}: cannot be read: ${error.message}`)
  })
}

export function readSendKey(key: string): string {
  if (/^[ -~]{1,256}$/.test(key)) return key
  throw new CliError('usage', '--idempotency-key must be 1 to 256 printable ASCII characters.')
}
