import type { AddressList } from './addresses.ts'
import { addressesInCsv } from './csv.ts'
import { addressesInJson } from './json.ts'

/**
 * Reads a file of addresses: one in each line, a column of a CSV file, or the JSON of SES, SendGrid, Mailgun, Postmark
 * or Resend. Throws AddressFileFault. `column` is the name or the number of the column, as text, or its index.
 */
export function readAddressList(bytes: Uint8Array, column?: string | number): AddressList {
  const text = decoded(bytes)
  return /^\s*[[{]/.test(text) ? addressesInJson(text) : addressesInCsv(text, column)
}

/** UTF-8 unless a byte order mark says UTF-16, as spreadsheets write it. The decoder drops the mark. */
function decoded(bytes: Uint8Array): string {
  const [first, second] = bytes
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
  return new TextDecoder(encoding).decode(bytes)
}
