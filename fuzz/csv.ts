// The law: a column of a CSV file has the addresses that Python's `csv` reads in it, in the same lines.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { readAddressList } from '../address-files/address-list.ts'
import { AddressFileFault } from '../address-files/addresses.ts'
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
const inputs = fc.record({ content, column: fc.nat(4), encoding: fc.constantFrom(...ENCODINGS) })
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

    async function check({ content, column, encoding }: Input): Promise<void> {
      const written = 'table' in content ? await python.ask<string>('csv_text', content) : { value: content.text }
      const text = written.value!.replace(/^\ufeff+/, '')
      // Such a file is JSON.
      if (/^\s*[[{]/.test(text)) return
      const ours = listOf(encoded(text, encoding), column)
      const faults: unknown[] = []
      for (const separator of separatorsOf(content)) {
        const records = await recordsOf(text, separator)
        // We accept text after the quote that ends a cell, as in `"a,b"@example.com`, and Python does not.
        if (!records && ours) return
        try {
          return assert.deepEqual(ours, records && asOurs(records, column, ours?.hasHeader ?? false))
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

/** What we return for the records that Python read; undefined where the file has no such column. */
function asOurs(records: ReadRecord[], column: number, hasHeader: boolean) {
  const rows = records.map(({ cells }, i) => ({
    line: (records[i - 1]?.lastLine ?? 0) + 1,
    // We read every line end as a line feed.
    cells: cells.length === 0 ? [''] : cells.map((cell) => cell.replaceAll(/\r\n?/g, '\n')),
  }))
  const first = rows[0]?.cells ?? []
  if (column >= first.length) return undefined
  const addresses = (hasHeader ? rows.slice(1) : rows)
    .filter(({ cells }) => cells.some((cell) => cell.trim() !== ''))
    .map(({ line, cells }) => ({
      line,
      text: cells[column]?.trim() || `no address: ${cells.join(',')}`.slice(0, 300),
    }))
  const lines = records.at(-1)!.lastLine
  return { addresses, lines, hasHeader, columns: first.map((cell) => cell.trim().slice(0, 300)), column }
}

function listOf(bytes: Uint8Array, column: number) {
  try {
    return readAddressList(bytes, column)
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
