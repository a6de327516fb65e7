import { isUtf8 } from 'node:buffer'
import { ConnectError } from '@connectrpc/connect'
import { inThread } from '../../async/threads.ts'
import { fail } from '../../errors.ts'
import { MAX_DEPTH, MAX_OBJECTS, MAX_VALUES, tooDeep, tooManyObjects, tooManyValues } from '../body/request-bounds.ts'
import { duplicateName, positionOfFault } from './json-position.ts'

/** The longest text, in characters, whose fault gets a position. */
const MAX_SEARCHED = 4 * 2 ** 20
/** Bytes outside of strings: punctuation, numbers and white space. */
const MAX_BARE_BYTES = 4 * 2 ** 20

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** 1 for each byte with a meaning outside of strings. */
const MEANS = new Uint8Array(256)
for (const byte of [QUOTE, COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT]) MEANS[byte] = 1

/** Text of more bytes is parsed in a thread. */
const LARGE_JSON = 256 * 1024

const parseInThread = inThread(import.meta.url, valueOrFault)

/** As `parseJson`, without keeping the event loop for a large text. Accounts take turns. */
export async function readJsonText(bytes: Uint8Array, accountId: string): Promise<unknown> {
  if (bytes.length <= LARGE_JSON) return parseJson(bytes)
  const result = await parseInThread(accountId, bytes)
  if ('fault' in result) throw fail('invalid_payload', result.fault)
  return result.value
}

/** What `parseJson` returns, or the words of what it throws: errors keep no class between threads. */
export function valueOrFault(bytes: Uint8Array): { value: unknown } | { fault: string } {
  try {
    return { value: parseJson(bytes) }
  } catch (error) {
    if (error instanceof ConnectError) return { fault: error.rawMessage }
    throw error
  }
}

/**
 * The value of a JSON text (RFC 8259), undefined for an empty text. Throws `invalid_payload` for a text that is not
 * JSON or not UTF-8, is nested too deep, has too many values, or has a name twice in one object. Counts depth and
 * values before it creates anything: 15 MiB of `[[[[` would become 700 MB.
 */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw fail('invalid_payload', 'The body is not UTF-8.')
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const names = countNames(buffer)
  const whole = buffer.toString('utf8')
  const text = whole.charCodeAt(0) === 0xfeff ? whole.slice(1) : whole
  const value = parse(text)
  if (namesIn(value) < names) {
    // JSON.parse keeps the last of two equal names, and the caller may have meant the first.
    throw fail('invalid_payload', `The body has ${duplicateName(text)} in one object. Send each name once.`)
  }
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const where = text.length > MAX_SEARCHED ? '' : positionOfFault(text)
    throw fail('invalid_payload', `The body is not valid JSON${where}.`)
  }
}

/** How many names a text contains, if it is JSON. Throws when the text exceeds a bound. */
function countNames(bytes: Buffer): number {
  let depth = 0
  let values = 1
  let strings = 0
  let stringBytes = 0
  let objects = 0
  let names = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (MEANS[byte] === 0) {
      if (i - stringBytes > MAX_BARE_BYTES) throw tooBare()
      continue
    }
    if (byte === QUOTE) {
      const end = endOfString(bytes, i)
      stringBytes += end - i
      strings++
      i = end
    } else if (byte === COMMA) values++
    else if (byte === COLON) {
      values++
      names++
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
    else {
      depth++
      values++
      if (byte === OPEN_OBJECT) objects++
      if (depth > MAX_DEPTH) throw tooDeep()
      // The outermost object is the request itself.
      if (objects > MAX_OBJECTS + 1) throw tooManyObjects()
    }
    // A string is a name or a value, unless the text is not JSON.
    if (values > MAX_VALUES || strings > MAX_VALUES) throw tooManyValues()
  }
  return names
}

const tooBare = () =>
  fail('invalid_payload', `The JSON has more than ${MAX_BARE_BYTES / 2 ** 20} MiB outside of strings.`)

/** How many names a value has, in all its objects. */
function namesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let names = 0
  if (Array.isArray(value)) {
    for (const item of value) names += namesIn(item)
    return names
  }
  for (const name of Object.keys(value)) names += 1 + namesIn((value as Record<string, unknown>)[name])
  return names
}

/** The index of the closing quote, or the end of the text. */
function endOfString(bytes: Buffer, open: number): number {
  const quote = bytes.indexOf(QUOTE, open + 1)
  if (quote === -1) return bytes.length
  // Most strings contain no quote. After the first one more may follow closely, and a search byte by byte finds them.
  return bytes[quote - 1] === BACKSLASH ? endOfEscaped(bytes, open) : quote
}

function endOfEscaped(bytes: Buffer, open: number): number {
  for (let i = open + 1; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) return i
    if (byte === BACKSLASH) i++
  }
  return bytes.length
}
