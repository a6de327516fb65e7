import { expect, test } from 'vitest'
import {
  bareValue,
  fieldLines,
  fieldValue,
  fieldValues,
  readFields,
  withoutType,
} from '../../server/inbound/report-fields.ts'

test('fields come in groups that empty lines divide, with their folded lines', () => {
  const groups = readFields('A: 1\r\n 2\n\tthree\nno field\nno field: 1\nb : x\n\n \nC:\n  4\n: 5\nä: 6\n')
  expect(groups).toEqual([
    [
      { name: 'a', lines: ['1', '2', 'three'] },
      { name: 'b', lines: ['x'] },
    ],
    [{ name: 'c', lines: ['4'] }],
  ])
  const [fields = []] = groups
  expect([fieldLines(fields, 'a'), fieldValue(fields, 'a'), fieldValue(fields, 'none')]).toEqual([
    ['1', '2', 'three'],
    '1 2 three',
    '',
  ])
  expect(fieldValues(readFields('A: 1\nB: 2\nA: 3\n 4')[0]!, 'a')).toEqual(['1', '3 4'])
})

test('a fold at the beginning belongs to no field', () => {
  expect(readFields(' 1\nA: 2')).toEqual([[{ name: 'a', lines: ['2'] }]])
})

test.each([
  ['rfc822; ann@example.com', 'ann@example.com'],
  ['rfc822;ann@example.com', 'ann@example.com'],
  ['RFC822 ; Ann <ann@example.com>', 'ann@example.com'],
  ['<ann@example.com>', 'ann@example.com'],
  ['dns; mx.example.com. (192.0.2.7)', 'mx.example.com'],
  ['dns; mx.example.com (a) x', 'mx.example.com (a) x'],
  ['mx.example.com', 'mx.example.com'],
  ['utf-8; ren\\x{E9}@example.com', 'rené@example.com'],
  ['utf-8 ; \\x{1F600}@example.com', '😀@example.com'],
  ['utf-8; \\x{10FFFF}@example.com', '\u{10FFFF}@example.com'],
  ['utf-8; \\x{FFFFFF}@example.com', '\ufffd@example.com'],
  ['utf-8; \\x{D800}@example.com', '\ufffd@example.com'],
  ['rfc822; ren\\x{E9}@example.com', 'ren\\x{E9}@example.com'],
  ['x-utf-8; ren\\x{E9}@example.com', 'ren\\x{E9}@example.com'],
  ['<ann@example.com', 'ann@example.com'],
  ['ann@example.com>', 'ann@example.com'],
  ['what has <no> address', 'what has <no> address'],
  ['', ''],
])('the name in "%s" is "%s"', (value, name) => {
  expect(bareValue(value)).toBe(name)
})

test.each([
  ['smtp; 550 5.1.1 no', '550 5.1.1 no'],
  ['x-local ;no', 'no'],
  ['550 5.1.1 no; such user; here', '550 5.1.1 no; such user; here'],
  ['two words; 550', 'two words; 550'],
])('"%s" without its type is "%s"', (value, rest) => {
  expect(withoutType(value)).toBe(rest)
})
