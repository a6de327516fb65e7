/** What a file of addresses holds, line by line. */
export interface AddressFile {
  /** SHA-256 of the bytes, in hex. By it an import that was interrupted is recognised. */
  digest: string
  /** The address of each line: of a CSV line its cell. Empty for the header and for empty lines, which are skipped. */
  emails: string[]
  hasHeader: boolean
}

const SEPARATORS = [';', '\t', ',']
/** No address is longer. The server receives the start of a longer line, by which it can be found in the file. */
const MAX_CHARACTERS = 320
/** The page stays usable: after this number of lines it may draw. */
const LINES_AT_ONCE = 20_000

/** Reads a file with one address in each line, or a CSV file with a column of addresses. */
export async function readAddressFile(file: Blob): Promise<AddressFile> {
  const bytes = await file.arrayBuffer()
  const digest = hex(await crypto.subtle.digest('SHA-256', bytes))
  const lines = new TextDecoder().decode(bytes).split(/\r\n|\n|\r/)
  if (lines.at(-1) === '') lines.pop()
  const column = addressColumn(lines)
  const emails: string[] = []
  for (const [at, line] of lines.entries()) {
    emails.push(at === 0 && column.isHeader ? '' : sentText(line, column))
    if (at % LINES_AT_ONCE === LINES_AT_ONCE - 1) await new Promise((resume) => setTimeout(resume))
  }
  return { digest, emails, hasHeader: column.isHeader }
}

interface AddressColumn {
  separator: string | undefined
  index: number
  /** Whether the first line names the columns. */
  isHeader: boolean
}

const HEADINGS = /^(e-?mail|(e-?mail[ _-]?)?address|recipient)$/i
const LINES_LOOKED_AT = 20

/** Finds the column of addresses by its heading, or else by the first lines that have an @. */
export function addressColumn(lines: string[]): AddressColumn {
  const first = lines[0] ?? ''
  const sample = lines.slice(0, LINES_LOOKED_AT)
  const separator = SEPARATORS.find((one) => sample.some((line) => line.includes(one) && cellsOf(line, one).length > 1))
  const headings = cellsOf(first, separator)
  const headed = headings.findIndex((cell) => HEADINGS.test(cell))
  if (headed >= 0) return { separator, index: headed, isHeader: true }
  const cells = sample.map((line) => cellsOf(line, separator)).find((row) => row.some((cell) => cell.includes('@')))
  return { separator, index: Math.max(0, cells?.findIndex((cell) => cell.includes('@')) ?? 0), isHeader: false }
}

/** The cell of the address. The server refuses NUL and halves of characters, and with them the whole part. */
export function addressIn(line: string, { separator, index }: AddressColumn): string {
  const cell = cellsOf(line.slice(0, 64 * 1024), separator)[index] ?? ''
  return cell.slice(0, MAX_CHARACTERS).replaceAll('\0', '\uFFFD').toWellFormed()
}

/**
 * What the server receives for a line. For a CSV line whose address cell is empty it is a text that is not an address.
 * The server then counts the line as faulty and keeps its number.
 */
function sentText(line: string, column: AddressColumn): string {
  const address = addressIn(line, column)
  if (address !== '' || line.trim() === '') return address
  return `no address: ${line}`.slice(0, MAX_CHARACTERS).replaceAll('\0', '\uFFFD').toWellFormed()
}

/** Says how many lines hold nothing to import, and why; empty when every line does. */
export function skippedWords({ emails, hasHeader }: Pick<AddressFile, 'emails' | 'hasHeader'>): string {
  const skipped = emails.filter((email) => email === '').length
  const empty = skipped - Number(hasHeader)
  if (skipped === 0) return ''
  const reason = [hasHeader && 'the header', empty > 0 && `${empty} empty`].filter(Boolean).join(' and ')
  return `${skipped} ${skipped === 1 ? 'line' : 'lines'} skipped: ${reason}.`
}

/** The cells of one line of CSV (RFC 4180), trimmed. A cell with a line break in it is not supported. */
function cellsOf(line: string, separator: string | undefined): string[] {
  if (separator === undefined) return [unquoted(line)]
  const cells: string[] = []
  let cell = ''
  let isQuoted = false
  for (const character of line) {
    if (character === '"') isQuoted = !isQuoted
    if (character === separator && !isQuoted) {
      cells.push(unquoted(cell))
      cell = ''
    } else cell += character
  }
  return [...cells, unquoted(cell)]
}

function unquoted(cell: string): string {
  const text = cell.trim()
  return text.length > 1 && text.startsWith('"') && text.endsWith('"')
    ? text.slice(1, -1).replaceAll('""', '"').trim()
    : text
}

const hex = (digest: ArrayBuffer) =>
  Array.from(new Uint8Array(digest), (octet) => octet.toString(16).padStart(2, '0')).join('')
