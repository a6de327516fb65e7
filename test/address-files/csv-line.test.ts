import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { csvLine } from '../../address-files/csv-line.ts'
import { anyCharacter } from '../harness/text.ts'

test('a line of CSV quotes its texts, and writes numbers and times as the API does', () => {
  const cells = ['a "quoted" text,\nof two lines', 7, true, undefined, timestampFromMs(Date.UTC(2026, 0, 31, 12))]
  expect(csvLine(cells)).toBe('"a ""quoted"" text,\nof two lines",7,true,,2026-01-31T12:00:00.000Z\r\n')
})

const blanks = fc.string({ unit: fc.constantFrom(' ', '\t', '\r', '\n', '\u00a0', '\ufeff', '\u3000'), maxLength: 3 })
const begins = fc.constantFrom(...'=+-@\uff1d\uff0b\uff0d\uff20')

test('a spreadsheet takes no text for a formula, also after blanks and in full width', () => {
  fc.assert(
    fc.property(blanks, begins, fc.string(), (blank, begin, rest) => {
      const text = blank + begin + rest
      expect(csvLine([text])).toBe(`"'${text.replaceAll('"', '""')}"\r\n`)
    }),
  )
})

test('any text is one cell, and other texts stay as they are', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: anyCharacter }), { minLength: 1 }), (texts) => {
      const cells = parse(csvLine(texts), { relax_column_count: true })[0]!.map((cell: string) =>
        cell.replace(/^'/, ''),
      )
      expect(cells).toEqual(texts.map((text) => text.replace(/^'/, '')))
    }),
  )
  expect(csvLine(['a=1', '1-2', "O'Hara"])).toBe(`"a=1","1-2","O'Hara"\r\n`)
})
