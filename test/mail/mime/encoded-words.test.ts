import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeWords, unfoldWords } from '../../../mail/mime/encoded-words.ts'
import { textField } from '../../../mail/mime/header-fields.ts'
import { cpuStopwatch } from '../../harness/stopwatch.ts'

test.each([
  ['=?utf-8?q?Gr=C3=BC=C3=9Fe_an?= alle', 'Grüße an alle'],
  ['=?UTF-8?B?R3LDvMOfZQ==?=', 'Grüße'],
  ['=?iso-8859-1*de?Q?Gr=FC=DFe?=', 'Grüße'],
  ['=?ISO-2022-JP?B?GyRCRnxLXBsoQg==?=', '日本'],
  ['a =?utf-8?q?b?= c', 'a b c'],
  ['=?utf-8?q?a?= =?utf-8?q?b?=', 'ab'],
  ['=?utf-8?q?a?= =?iso-8859-1?q?=FC?=', 'aü'],
  // A character split between two words.
  ['=?utf-8?b?w7w=?= =?utf-8?b?w5/D?= =?utf-8?b?pA==?=', 'üßä'],
])('%s is %s', (text, decoded) => {
  expect(decodeWords(text)).toBe(decoded)
})

test.each([
  ...['=?', '=?utf-8?q?a', '=?utf-8?x?a?=', '=?utf-8?q?a b?=', '=?utf-8?q?a=?=', '=?utf-8?b?R3L?x?=', '=?utf-8?b?*?='],
  ...['=?unknown-charset?q?a?=', '=?utf-8?q?=FF?=', '=?utf-7?q?+AOQ-?=', '1 =? 2'],
])('%s is no well-formed encoded word and stays', (text) => {
  expect(decodeWords(text)).toBe(text)
})

test('words are decoded once', () => {
  expect(decodeWords('=?utf-8?q?=3D=3Futf-8=3Fq=3Fa=3F=3D?=')).toBe('=?utf-8?q?a?=')
})

test('only line ends between encoded words are unfolded', () => {
  expect(decodeWords(unfoldWords('=?utf-8?q?a?=\r\n =?utf-8?q?b?='))).toBe('ab')
  expect(unfoldWords('=?utf-8?q?a?=\r\nBcc: =?utf-8?q?b?=')).toContain('\r\n')
})

test('the encoded words of any text decode to it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }), (text) => {
      const field = textField('Subject', `ü${text}ü`)
      expect(decodeWords(unfoldWords(field.slice('Subject: '.length, -2)))).toBe(`ü${text}ü`)
    }),
  )
})

test('the time is linear', () => {
  for (const text of ['=?'.repeat(100_000), '=?utf-8?q?'.repeat(30_000), '=?utf-8?q?a?= '.repeat(10_000)]) {
    const watch = cpuStopwatch()
    decodeWords(unfoldWords(text))
    // A quadratic reader takes minutes.
    expect(watch.ms()).toBeLessThan(3_000)
  }
})

test('a word that starts with U+FEFF keeps it', () => {
  expect(decodeWords(`=?utf-8?B?${Buffer.from('\uFEFFa').toString('base64')}?=`)).toBe('\uFEFFa')
})
