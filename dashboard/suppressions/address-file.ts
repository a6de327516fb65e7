import { readAddressList } from '../../address-files/address-list.ts'

/** What a file of addresses holds, line by line. */
export interface AddressFile {
  /** SHA-256 of the bytes and the chosen column, in hex. By it an import that was interrupted is recognised. */
  digest: string
  /** The address of each line, at most 320 characters. Empty where no record begins, and for the header. */
  emails: string[]
  hasHeader: boolean
  /** The columns of CSV by their first line, and the one that was read, from 0. */
  columns: string[]
  column: number
}

/** No address is longer. The server receives the start of a longer text, by which it can be found in the file. */
const MAX_CHARACTERS = 320

/** Reads a file of addresses. Throws AddressFileFault for one that is damaged. `chosen` is the index of a column. */
export async function readAddressFile(file: Blob, chosen?: number): Promise<AddressFile> {
  const bytes = await file.arrayBuffer()
  const mark = chosen === undefined ? '' : `column ${chosen}`
  const digest = hex(await crypto.subtle.digest('SHA-256', await new Blob([bytes, mark]).arrayBuffer()))
  const { addresses, lines, hasHeader, columns, column } = readAddressList(new Uint8Array(bytes), chosen)
  const emails = Array.from({ length: lines }, () => '')
  // The server refuses NUL and halves of characters, and with them the whole part.
  for (const { line, text } of addresses) {
    emails[line - 1] = text.slice(0, MAX_CHARACTERS).replaceAll('\0', '\uFFFD').toWellFormed()
  }
  return { digest, emails, hasHeader, columns, column }
}

/** Says how many lines are skipped, and why. Empty when there are none. */
export function skippedWords({ emails, hasHeader }: Pick<AddressFile, 'emails' | 'hasHeader'>): string {
  const skipped = emails.filter((email) => email === '').length
  const empty = skipped - Number(hasHeader)
  if (skipped === 0) return ''
  const reason = [hasHeader && 'the header', empty > 0 && `${empty} empty`].filter(Boolean).join(' and ')
  return `${skipped} ${skipped === 1 ? 'line' : 'lines'} skipped: ${reason}.`
}

const hex = (digest: ArrayBuffer) =>
  Array.from(new Uint8Array(digest), (octet) => octet.toString(16).padStart(2, '0')).join('')
