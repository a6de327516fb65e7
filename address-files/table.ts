/** A record of a file: a line of CSV, or an entry of JSON. */
export interface Row {
  /** The line where it begins, or the position of the entry, from 1. */
  line: number
  cells: string[]
}

/** What a file holds, before anything is understood of it. */
export interface Table {
  rows: Row[]
  /** The names of the members of JSON. Absent for CSV, whose first row may be one of headings. */
  members?: string[]
  /** What is between the cells of CSV. */
  separator?: string
  /** Lines of the file, or entries of JSON. */
  lines: number
}

/** What a message shows of a cell or a list of columns. */
export const MAX_SHOWN = 300

/** Why a file is refused as a whole, with what the person can choose from. */
export class AddressFileFault extends Error {
  readonly columns: string[]
  readonly states: Counts[]
  constructor(message: string, { columns = [], states = [] }: { columns?: string[]; states?: Counts[] } = {}) {
    super(message)
    this.columns = columns
    this.states = states
  }
}

/** A column of few values, and how many rows have each. */
export interface Counts {
  /** Its heading, or its number from 1 in a file without headings. */
  column: string
  counts: Record<string, number>
}

/** Whether a cell is an address, as far as a column shows it: the service judges each text. */
export const isAddress = (cell: string): boolean => ADDRESS.test(cell.trim())
const ADDRESS = /^(?:"[^"\n]{0,64}"|[^\s@<>,;:"]{1,64})@[^\s@<>,;:"]{1,255}$/

/** The addresses of a cell that holds nothing else, whatever is between them. Empty for any other text. */
export function addressesIn(cell: string): string[] {
  if (!cell.includes('@')) return []
  if (isAddress(cell)) return [cell.trim()]
  const texts = cell.split(/[\s,;|/]+/).filter((text) => text !== '')
  const addresses = texts.map((text) => text.replace(/^<(.*)>$/, '$1'))
  return addresses.every(isAddress) ? addresses : []
}

/** The words of a heading or a value, in lower case: `_`, `-`, blanks and capitals inside a word part them. */
export function wordsOf(text: string): string[] {
  const parted = text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
  return parted.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

/** Whether the words contain one of these phrases as whole words. */
export function holds(words: readonly string[], ...lists: readonly string[]): boolean {
  const text = ` ${words.join(' ')} `
  return lists.some((list) => list.split(', ').some((one) => text.includes(` ${one} `)))
}
