// The law: a CSV file has the rows that Python's `csv` reads in it, in the same lines, but for titles above its table.
// A file with a NUL character in its first line is no text, and is refused.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { tableOf } from '../address-files/address-list.ts'
import { AddressFileFault, type Row } from '../address-files/table.ts'
import { startPython } from './readers/reader.ts'
import type { Target } from './target.ts'

const SEPARATORS = [',', ';', '\t'] as const
const ENCODINGS = ['utf-8', 'utf-8 with a mark', 'utf-16le', 'utf-16be'] as const

const PIECES = ['a@b.example', 'Ann', ' ', '"', '\n', '\r\n', '\r', ',', ';', '\t', 'é', '世', "'", '\0', '\ufeff']
const cell = fc.oneof(
  fc.constantFrom('a@b.example', 'email', '', 'Ann'),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 6 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
)

/** A table that Python writes, or any text. */
const content = fc.oneof(
  fc.record({
    table: fc.array(fc.array(cell, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 6 }),
    separator: fc.constantFrom(...SEPARATORS),
    lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
    quotesAll: fc.boolean(),
  }),
  fc.record({ text: fc.array(fc.constantFrom(...PIECES), { maxLength: 30 }).map((pieces) => pieces.join('')) }),
)
const inputs = fc.record({ content, encoding: fc.constantFrom(...ENCODINGS) })
type Input = typeof inputs extends fc.Arbitrary<infer I> ? I : never

interface ReadRecord {
  cells: string[]
  lastLine: number
}

export const csv: Target<Input> = {
  inputs,
  async start() {
    const python = await startPython()
    const recordsOf = async (text: string, separator: string) =>
      (await python.ask<ReadRecord[]>('csv_records', { text, separator })).value

    async function check({ content, encoding }: Input): Promise<void> {
      const written = 'table' in content ? await python.ask<string>('csv_text', content) : { value: content.text }
      const text = written.value!.replace(/^\ufeff+/, '')
      // Such a file is JSON.
      if (/^\s*[[{]/.test(text)) return
      const ours = rowsOf(encoded(text, encoding))
      if (/^[^\n]*\0/.test(text)) return assert.equal(ours, undefined)
      const faults: unknown[] = []
      for (const separator of separatorsOf(content)) {
        const records = await recordsOf(text, separator)
        // We accept text after the quote that ends a cell, as in `"a,b"@example.com`, and Python does not.
        if (!records && ours) return
        try {
          const theirs = records && asOurs(records, separator)
          const titles = theirs?.splice(0, theirs.length - (ours?.length ?? 0)) ?? []
          assert(titles.every(isTitle), `rows are lost: ${JSON.stringify(titles)}`)
          return assert.deepEqual(ours, theirs)
        } catch (fault) {
          faults.push(fault)
        }
      }
      throw new AggregateError(faults, `No separator explains ${JSON.stringify(ours)}: ${faults.join('\n')}`)
    }

    return { check, stop: python.stop }
  },
}

/** The separators that we may choose: where each cell has quotes, there is one only. */
function separatorsOf(content: Input['content']): readonly string[] {
  if (!('table' in content)) return SEPARATORS
  const isPlain = content.quotesAll && content.table.some((cells) => cells.length > 1)
  return isPlain ? [content.separator] : SEPARATORS
}

/** A line `sep=;` is gone, and so is a row of one cell. */
const isTitle = ({ cells }: Row) =>
  cells.filter((cell) => cell.trim() !== '').length <= 1 && !cells.join().includes('@')

/** The rows that Python read as ours are, without the empty ones. */
function asOurs(records: ReadRecord[], separator: string): Row[] {
  const whole = (cell: string) => cell.replace(/^"(.*)"$/s, (_, inner: string) => inner.replaceAll('""', '"'))
  const rows = records.map(({ cells }, i) => ({
    line: (records[i - 1]?.lastLine ?? 0) + 1,
    // We read every line end as a line feed.
    cells: cells.map((cell) => (separator === '\t' ? whole(cell) : cell).replaceAll(/\r\n?/g, '\n')),
  }))
  return rows.filter(isFilled)
}

const isFilled = ({ cells }: Row) => cells.some((cell) => cell.trim() !== '')

function rowsOf(bytes: Uint8Array): Row[] | undefined {
  try {
    return tableOf(bytes).rows.filter(isFilled)
  } catch (error) {
    assert(error instanceof AddressFileFault, error as Error)
    return undefined
  }
}

function encoded(text: string, encoding: (typeof ENCODINGS)[number]): Uint8Array {
  if (encoding === 'utf-8') return Buffer.from(text)
  const marked = `\ufeff${text}`
  if (encoding === 'utf-8 with a mark') return Buffer.from(marked)
  const little = Buffer.from(marked, 'utf16le')
  return encoding === 'utf-16le' ? little : little.swap16()
}
