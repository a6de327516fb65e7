import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shortened } from '../../dashboard/copy/shortened.ts'
import { sizeOf } from '../../dashboard/numbers/quantities.ts'
import { beginning, visiblePieces } from '../../dashboard/outside-text/visible-controls.ts'
import { browserOf } from '../../dashboard/settings/profile/browsers.ts'
import { lengthOf, minuteFormIn, relativeTime, utcTime } from '../../dashboard/time/times.ts'

const shown = (text: string) =>
  visiblePieces(text)
    .map(({ text, control }) => (control ? `<${text}>` : text))
    .join('')

test.each([
  ['550 5.1.1 no such user', '550 5.1.1 no such user'],
  ['a\u001b[31mred', 'a<ESC>[31mred'],
  ['line\r\nline\nline\rend', 'line\nline\nline<CR>end'],
  ['tab\there', 'tab\there'],
  ['\u202egnp.exe', '<U+202E>gnp.exe'],
  ['nul\0del\u007f', 'nul<NUL>del<DEL>'],
  ['zero\u200bwidth\ufeff', 'zero<U+200B>width<U+FEFF>'],
  ['\u{e0041}', '<U+E0041>'],
  ['👩‍💻 नि', '👩‍💻 नि'],
  ['half \ud800', 'half \ufffd'],
])('text from outside shows characters that cannot be seen: %j', (text, expected) => {
  expect(shown(text)).toBe(expected)
})

test('no character of text from outside changes the order or the look of the page around it', () => {
  fc.assert(
    fc.property(fc.uint16Array({ maxLength: 40 }), (units) => {
      const text = String.fromCharCode(...units)
      const written = visiblePieces(text).map((piece) => piece.text)
      expect(written.join('')).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/)
    }),
  )
})

test('a long text is cut at a line or a whole character', () => {
  expect(beginning('a\nb\nc', { characters: 100, lines: 2 })).toBe('a\nb')
  expect(beginning('ab👩cd', { characters: 3, lines: 2 })).toBe('ab')
  expect(beginning('short', { characters: 5, lines: 1 })).toBe('short')
})

test('an id is shortened in the middle', () => {
  expect(shortened('msg_01jx3c7w5fe9c8m0t1q2r3s4v5')).toBe('msg_01jx…s4v5')
  expect(shortened('key_1')).toBe('key_1')
})

const SECOND = 1_000
const HOUR = 3_600_000
test.each([
  [0, 'just now'],
  [2 * SECOND, 'now'],
  [-40 * SECOND, '40 s ago'],
  [-60 * SECOND, '1 min ago'],
  [-3 * HOUR - 1, '3 h ago'],
  [5 * HOUR, 'in 5 h'],
  [-24 * HOUR, '1 day ago'],
  [7 * 24 * HOUR - SECOND, 'in 7 days'],
  [-29 * 24 * HOUR, '29 days ago'],
])('a time %s ms from now is "%s"', (distance, words) => {
  const now = Date.UTC(2026, 10, 22, 12)
  expect(relativeTime(now + distance, now)).toBe(words)
})

test('the night in which the clock is put back has no two minutes that read alike', () => {
  const form = minuteFormIn('Europe/Berlin')
  const back = Date.UTC(2026, 9, 25)
  const minutes = Array.from({ length: 4 * 60 }, (_, i) => form.format(back - HOUR + i * 60_000))
  expect(new Set(minutes).size).toBe(minutes.length)
  expect(form.format(back + HOUR / 2)).toBe('25 Oct 2026, 02:30 CEST')
  expect(form.format(back + 1.5 * HOUR)).toBe('25 Oct 2026, 02:30 CET')
})

test('a time more than 30 days away is its day', () => {
  const now = Date.UTC(2026, 10, 22, 12)
  expect(relativeTime(Date.UTC(2026, 8, 1, 12), now)).toMatch(/^1 Sept? 2026$/)
  expect(utcTime(Date.UTC(2026, 8, 1, 12, 0, 0, 5))).toBe('2026-09-01 12:00:00.005 UTC')
})

test.each([
  [4, '4 ms'],
  [4_120, '4.1 s'],
  [18_000, '18 s'],
  [7 * HOUR + 21 * 60_000, '7 h 21 min'],
  [24 * HOUR, '1 day'],
  [51 * HOUR, '2 days 3 h'],
])('%s ms are %s', (ms, words) => expect(lengthOf(ms)).toBe(words))

test.each([
  [15 * 2 ** 20, '15 MiB'],
  [1536, '1.5 KiB'],
  [300, '300 bytes'],
])('%s bytes are %s', (bytes, words) => expect(sizeOf(bytes)).toBe(words))

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox on Linux'],
  ['Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/131.0 Safari/537.36 Edg/131.0', 'Edge on Windows'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18 Mobile Safari/604', 'Safari on iPhone'],
  ['curl/8.11', 'curl/8.11'],
  ['', 'Unknown browser'],
])('%j is %s', (userAgent, words) => expect(browserOf(userAgent)).toBe(words))
