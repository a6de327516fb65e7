import { isUtf8 } from 'node:buffer'
import { fail } from '../errors.ts'
import { positionOfFault } from './json-position.ts'

const MAX_DEPTH = 32
/** The largest request there is, an import of 10,000 addresses, has a tenth of it. */
const MAX_VALUES = 100_000

/** What is shorter cannot have enough of either to matter. */
const SMALL_BYTES = 16 * 1024

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * The value in a JSON text (RFC 8259), undefined for an empty one. What is not JSON, not UTF-8, nested too deep or has too many
 * values throws `invalid_payload`. The last two are found before anything is built: 15 MiB of `[[[[` would become 700 MB.
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw fail('invalid_payload', 'The body is not UTF-8.')
  if (bytes.length > SMALL_BYTES) checkStructure(bytes)
  const whole = bytes.toString('utf8')
  const text = whole.charCodeAt(0) === 0xfeff ? whole.slice(1) : whole
  try {
    return JSON.parse(text)
  } catch {
    throw fail('invalid_payload', `The body is not valid JSON${positionOfFault(text)}.`)
  }
}

function checkStructure(bytes: Buffer): void {
  let depth = 0
  let values = 1
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (byte === QUOTE) i = endOfString(bytes, i)
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth++
      values++
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
    else if (byte === COMMA || byte === COLON) values++
    if (depth > MAX_DEPTH) throw fail('invalid_payload', `The JSON is nested deeper than ${MAX_DEPTH} levels.`)
    if (values > MAX_VALUES) throw fail('invalid_payload', `The JSON has more than ${MAX_VALUES} names and values.`)
  }
}

/** The index of the closing quote, or the end of the text. */
function endOfString(bytes: Buffer, open: number): number {
  for (let end = bytes.indexOf(QUOTE, open + 1); end !== -1; end = bytes.indexOf(QUOTE, end + 1)) {
    let backslashes = 0
    while (bytes[end - 1 - backslashes] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return bytes.length
}
