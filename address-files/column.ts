import { AddressFileFault, addressesIn, holds, isAddress, MAX_SHOWN, type Row, type Table, wordsOf } from './table.ts'

// Which column has the addresses of recipients. A wrong one would suppress the sender for ever, so that a file is
// refused when two columns are equally good.

/** The column of the addresses, from 0. -1 for a list, whose every cell has addresses. */
export interface FoundColumn {
  index: number
  hasHeader: boolean
}

/** Rows that tell the columns apart. */
const COMPARED = 10_000

/** Headings of senders, whatever else they say. The first list is whole headings. */
const SENDER_ALONE = 'de, von, van, da, od'
const SENDER = [
  'from, sender, return path, returnpath, reply, replyto, absender, antwort, antworten, rückantwort',
  'expéditeur, expediteur, répondre, repondre, réponse, remitente, remetente, responder, respuesta, resposta',
  'mittente, rispondi, risposta, afzender, antwoord, nadawca',
]
const RECIPIENT_ALONE = 'an, a, à, para, per, aan, do'
const RECIPIENT =
  /(?<!\p{L})(?:to|recipients?|rcpt|destinat\p{L}*|empf(?:ä|ae)nger|ontvanger|geadresseerde|odbiorca)(?!\p{L})/u
const ADDRESS = /mail|addre?ss|adres|correo|courriel|indirizzo|endere[cç]o|dirección/
/** What has an `@` in it and is no recipient. */
const OTHER = ['message, campaign, event, server']

/** Finds the column by its name, number or index, else by the headings over addresses, else by the addresses. */
export function columnOf(table: Table, column: string | number | undefined): FoundColumn {
  const { rows, members } = table
  const headings = headingsOf(table)
  if (column !== undefined) return chosenColumn(table, headings, column)
  if (!members && isList(rows)) return { index: -1, hasHeader: !headings.some((heading) => heading.includes('@')) }

  const width = Math.max(1, ...rows.slice(0, COMPARED).map(({ cells }) => cells.length))
  const columns = Array.from({ length: width }, (_, index) => index)
  const withAddresses = columns.filter((index) => rows.some(({ cells }) => addressesIn(cells[index] ?? '').length > 0))
  const headed = (index: number) => members !== undefined || isHeading(rows, index)
  const wordsAt = (index: number) => (headed(index) ? wordsOf(headings[index] ?? '') : [])
  const candidates = withAddresses.filter((index) => rankOf(wordsAt(index)) > 0)
  if (candidates.length === 0) {
    // A list of one column is imported as it is: each of its lines is counted as faulty.
    if (width === 1 && !members && withAddresses.length === 0)
      return { index: 0, hasHeader: rows.length > 1 && rankOf(wordsOf(headings[0] ?? '')) > 1 }
    throw columnFault(
      withAddresses.length > 0 ? 'No column of the file is one of recipients.' : 'No column of the file has addresses.',
      headings,
    )
  }
  const best = Math.max(...candidates.map((index) => rankOf(wordsAt(index))))
  const index = mostDistinct(
    rows,
    candidates.filter((index) => rankOf(wordsAt(index)) === best),
  )
  if (index === undefined) throw columnFault('Several columns of the file may be the one of recipients.', headings)
  return { index, hasHeader: !members && headed(index) }
}

/** What the first row has in each column, or the members of JSON. */
export const headingsOf = ({ rows, members }: Table): string[] =>
  (members ?? rows[0]?.cells ?? []).map((cell) => cell.trim().slice(0, MAX_SHOWN))

/** 3 for recipients, 2 for addresses, 1 for any other column, 0 for one that is none of recipients. */
function rankOf(words: readonly string[]): 0 | 1 | 2 | 3 {
  const text = words.join(' ')
  const isEnvelopeOnly = holds(words, 'envelope') && !RECIPIENT.test(text)
  if (SENDER_ALONE.split(', ').includes(text) || holds(words, ...SENDER) || isEnvelopeOnly) return 0
  if (text === 'id' || holds(words, ...OTHER)) return 0
  if (RECIPIENT.test(text) || RECIPIENT_ALONE.split(', ').includes(text)) return 3
  return ADDRESS.test(text) ? 2 : 1
}

/** Whether the first row's cell is a heading: it has no `@`, and one below it is an address. */
function isHeading(rows: readonly Row[], index: number): boolean {
  const first = rows[0]?.cells[index] ?? ''
  return !first.includes('@') && rows.slice(1).some(({ cells }) => isAddress(cells[index] ?? ''))
}

/** The column with at least twice as many different addresses as each other one. Columns that are equal count once. */
function mostDistinct(rows: readonly Row[], columns: readonly number[]): number | undefined {
  const addressesOf = (index: number) =>
    rows.slice(0, COMPARED).flatMap(({ cells }) => addressesIn((cells[index] ?? '').toLowerCase()))
  const columnsByContent = Map.groupBy(columns, (index) => addressesOf(index).join('\n'))
  const counted = [...columnsByContent].map(([content, [index]]) => ({
    index,
    count: new Set(content.split('\n')).size,
  }))
  const [first, second] = counted.toSorted((a, b) => b.count - a.count)
  return !first || (second && second.count * 2 > first.count) ? undefined : first.index
}

/**
 * Whether every cell has addresses and nothing else, in rows that are no table: one cell each, or as many as it comes.
 * An address that most rows have is no recipient.
 */
function isList(rows: readonly Row[]): boolean {
  const hasSeveral = ({ cells }: Row) =>
    cells.filter((cell) => cell.includes('@')).length > 1 || /@.*@/s.test(cells[0] ?? '')
  if (!rows.some(hasSeveral)) return false
  const widths = rows.map(({ cells }) => cells.filter((cell) => cell.trim() !== '').length)
  const [width = 0] = widths
  const hasHeading = width === 1 && !rows[0]?.cells.some((cell) => cell.includes('@'))
  const below = rows.filter((_, i) => widths[i] !== 0 && !(hasHeading && i === 0))
  const isTable = !hasHeading && below.length > 1 && new Set(widths.filter((width) => width > 0)).size === 1
  if (isTable && width > 1) return false
  const lists = below.map(({ cells }) => cells.filter((cell) => cell.trim() !== '').map(addressesIn))
  if (!lists.every((cells) => cells.every(({ length }) => length > 0))) return false
  const addresses = lists.flat(2)
  const counts = new Map<string, number>()
  for (const one of addresses) counts.set(one, (counts.get(one) ?? 0) + 1)
  const most = [...counts.values()].reduce((a, b) => Math.max(a, b), 0)
  return addresses.length > below.length && (below.length === 1 || most * 2 <= below.length)
}

function chosenColumn({ rows, members }: Table, headings: string[], column: string | number): FoundColumn {
  const index = indexOf(headings, column)
  const heading = headings[index] ?? ''
  const isNamed = typeof column === 'string' && heading.toLowerCase() === column.trim().toLowerCase()
  return { index, hasHeader: !members && (isNamed || (!heading.includes('@') && rows.length > 1)) }
}

/** The position of a column by its name, its number from 1 as text, or its index. */
export function indexOf(headings: readonly string[], column: string | number): number {
  const index = typeof column === 'number' ? column : positionOf(headings, column.trim().toLowerCase())
  if (index >= 0 && index < headings.length) return index
  throw columnFault(`The file has no column ${JSON.stringify(column)}.`, headings)
}

function positionOf(headings: readonly string[], name: string): number {
  const named = headings.findIndex((heading) => heading.toLowerCase() === name)
  return named === -1 && /^\d{1,4}$/.test(name) ? Number(name) - 1 : named
}

function columnFault(message: string, headings: readonly string[]): AddressFileFault {
  const columns = [...headings]
  return new AddressFileFault(`${message} Its columns: ${columns.join(', ').slice(0, MAX_SHOWN)}`, { columns })
}
