import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import { csvLine } from '../../address-files/csv-line.ts'

test('a line of CSV quotes its texts, and writes numbers and times as the API does', () => {
  const cells = ['a "quoted" text,\nof two lines', 7, true, undefined, timestampFromMs(Date.UTC(2026, 0, 31, 12))]
  expect(csvLine(cells)).toBe('"a ""quoted"" text,\nof two lines",7,true,,2026-01-31T12:00:00.000Z\r\n')
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'])('a spreadsheet takes no text for a formula: %j', (text) => {
  expect(csvLine([text])).toBe(`"'${text}"\r\n`)
})
