import { type AddressList, readAddressList } from '../../address-files/address-list.ts'
import { leaveOut } from '../../address-files/own-domains.ts'
import type { Reason } from '../../address-files/reasons.ts'
import { comparable } from '../outside-text/comparable.ts'

/** What the person chose of a file: the column of the addresses, rows by the values of a column, and the reasons. */
export interface FileChoices {
  /** From 0. */
  column?: number
  states?: { column: string; values: string[] }
  reasonColumn?: string
}

/** What a file of addresses holds, line by line. */
export interface AddressFile extends Omit<AddressList, 'addresses' | 'lines'> {
  /** SHA-256 of the bytes and the choices, in hex. By it an import that was interrupted is recognised. */
  digest: string
  /** The address of each line. Empty where no record begins, and for the header. */
  emails: string[]
  /** The reason of each line. Empty without a column of reasons. */
  lineReasons: Reason[]
  /** The account's own domains, and how many addresses of each are left out. */
  ownDomains: Record<string, number>
}

/** Reads a file of addresses. Throws AddressFileFault for one that could be understood in two ways. */
export async function readAddressFile(
  file: Blob,
  choices: FileChoices = {},
  domains: readonly string[] = [],
): Promise<AddressFile> {
  const bytes = await file.arrayBuffer()
  const mark = Object.values(choices).some((choice) => choice !== undefined) ? JSON.stringify(choices) : ''
  const digest = hex(await crypto.subtle.digest('SHA-256', await new Blob([bytes, mark]).arrayBuffer()))
  const { column, states, reasonColumn } = choices
  const { addresses, lines, ...list } = readAddressList(new Uint8Array(bytes), {
    column,
    reasonColumn,
    where: states && [states],
  })
  const { lines: kept, left: ownDomains } = leaveOut(addresses, domains, comparable)
  // A line of a list may have several addresses: then each has its own number.
  const isSeveral = new Set(addresses.map(({ line }) => line)).size < addresses.length
  const placed = isSeveral ? kept.map((address, i) => ({ ...address, line: i + 1 })) : kept
  const emails = Array.from({ length: isSeveral ? kept.length : lines }, () => '')
  const lineReasons = reasonColumn === undefined ? [] : emails.map((): Reason => 'import')
  for (const { line, email, reason } of placed) {
    emails[line - 1] = email
    if (reason) lineReasons[line - 1] = reason
  }
  return { ...list, digest, emails, lineReasons, ownDomains }
}

/** Says how many lines are skipped, and why. Empty when there are none. */
export function skippedWords({ emails, hasHeader }: Pick<AddressFile, 'emails' | 'hasHeader'>): string {
  const skipped = emails.filter((email) => email === '').length
  const empty = skipped - Number(hasHeader)
  if (skipped === 0) return ''
  const reason = [hasHeader && 'the header', empty > 0 && `${empty} empty or left out`].filter(Boolean).join(' and ')
  return `${skipped} ${skipped === 1 ? 'line' : 'lines'} skipped: ${reason}.`
}

const hex = (digest: ArrayBuffer) =>
  Array.from(new Uint8Array(digest), (octet) => octet.toString(16).padStart(2, '0')).join('')
