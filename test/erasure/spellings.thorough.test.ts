import fc from 'fast-check'
import { expect, test } from 'vitest'
import { wantedAddress } from '../../server/erasure/spellings.ts'
import { createErasedForm } from '../../server/reputation/erased-form.ts'
import { cpuStopwatch } from '../harness/stopwatch.ts'
import { words } from '../harness/text.ts'

// Where an address is found in a text, and where the text is about another person.

const wantedOf = (email: string) => wantedAddress(email, createErasedForm(Buffer.alloc(32)))
const ann = wantedOf('ann@x.test')
const isChanged = (text: string, wanted = ann) => wanted.replaceIn(text) !== text

/** `_` is where the address is: what stays of the text. */
const around = (text: string) => ann.replaceIn(text).replaceAll(ann.erased, '_')

test.each([
  ['ann@x.test', '_'],
  ['ANN@X.Test', '_'],
  ['"ann"@x.test', '_'],
  ['Ann Smith <ann@x.test>', '_'],
  ['(ann@x.test)', '(_)'],
  [`'ann@x.test', "ann@x.test"`, `'_', "_"`],
  ['mailto:ann@x.test?subject=hi', 'mailto:_?subject=hi'],
  ['https://a.example/?u=ann%40x.test&v=1', 'https://a.example/?u=_&v=1'],
  ['https://a.example/?u%3DANN%40X.TEST%26v', 'https://a.example/?u%3D_%26v'],
  ['?next=https%3A%2F%2Fa%2F%3Fu%3Dann%2540x.test%26v', '?next=https%3A%2F%2Fa%2F%3Fu%3D_%26v'],
  ['%0Aann%40x.test%0A', '%0A_%0A'],
  ['No user ann@x.test.', 'No user _.'],
  ['ann@x.test...', '_...'],
  ['Write to ann@x.test.Thanks', 'Write to _.Thanks'],
  ['请联系ann@x.test谢谢', '请联系_谢谢'],
  ['*_ann@x.test_*', '*___*'],
  ['- ann@x.test - see --ann@x.test--', '- _ - see --_--'],
  ['b@x.test,ann@x.test;c@x.test', 'b@x.test,_;c@x.test'],
  ['{"user":"ann@x.test"}', '{"user":"_"}'],
  ['key=ann@x.test path/ann@x.test #ann@x.test', 'key=_ path/_ #_'],
])('%s mentions the address', (text, rest) => {
  expect(around(text)).toBe(rest)
})

test.each([
  ['ann@x.test.txt', '_.txt'],
  ['ANN@X.TEST.TXT', '_.TXT'],
  ['ann@x.test.tar.gz', '_.tar.gz'],
  ['ann@x.test.zip', '_.zip'],
  ['ann@x.test-backup', '_-backup'],
  ['ann@x.test-backup.csv', '_-backup.csv'],
  ['ann@x.test_1', '__1'],
  ['ann@x.test_1.csv', '__1.csv'],
  ['ann@x.test (2).csv', '_ (2).csv'],
  ['ann@x.test2', '_2'],
  ['ann@x.test~', '_~'],
  ['export_ann@x.test.csv', 'export__.csv'],
  ['2026-11-25-ann@x.test.csv', '2026-11-25-_.csv'],
  ['mail of ann@x.test.eml.bak', 'mail of _.eml.bak'],
  ['../lists/ann@x.test.csv', '../lists/_.csv'],
])('%s is a file about the address', (text, rest) => {
  expect(around(text)).toBe(rest)
})

test.each(
  words(`
  joann@x.test jo.ann@x.test mary-ann@x.test mary_ann@x.test news+ann@x.test o'ann@x.test ann+news@x.test
  joann@x.test.csv ann@x.test.example ann@x.test.example.csv ann@x.test.com ann@x.test-lab.com ann@x.test.com.au,
  ann@x.test.xn--p1ai ann@x.test.рф ?u=jo%2Eann%40x.test ?u=news%2Bann%40x.test ?u=news%252Bann%2540x.test ann@y.x.test
  ann@x-test
`),
)('%s is another address', (text) => {
  for (const one of [text, `<${text}>`, `No user ${text}.`, text.toUpperCase()]) expect(around(one), one).toBe(one)
})

test.each([
  ['ann@example.com', 'ann@example.com.au', false],
  ['ann@example.com', 'ann@example.community', false],
  ['ann@example.com', 'ann@example.comx', true],
  ['ann@example.co', 'ann@example.com', false],
  ['ann@example.co', 'ann@example.co.uk', false],
  ['ann@xn--bcher-kva.example', 'ann@bücher.example.csv', true],
  ['ann@xn--bcher-kva.example', 'ann%40b%C3%BCcher.example', true],
  ['ann@xn--bcher-kva.example', 'ANN@BÜCHER.EXAMPLE', true],
  ['ann@xn--bcher-kva.example', 'ann@bücher.example.com', false],
  ['ann+x@x.test', '?u=ann+x%40x.test', true],
  ['ann+x@x.test', '?u=ann%2Bx%40x.test', true],
  ['ann+x@x.test', '?u=ann%252Bx%2540x.test', true],
])('%s in %s: %s', (email, text, expected) => {
  expect(isChanged(text, wantedOf(email))).toBe(expected)
})

test('a mailbox is compared as a whole, and its display name and local part are searched', () => {
  const { replaceInMailbox, erased } = ann
  for (const other of ['ann@x.test.txt', 'ann@x.test.corp', 'Ann <ann@x.test-lan.corp>', 'export_ann@x.testing.corp'])
    expect(replaceInMailbox(other)).toBe(other)
  expect(replaceInMailbox('Ann Smith <Ann@X.test>')).toBe(erased)
  expect(replaceInMailbox('"ann@x.test" <b@y.test>')).toBe(`"${erased}" <b@y.test>`)
  expect(replaceInMailbox('"ann@x.test"@y.test')).toBe(`"${erased}"@y.test`)
  expect(replaceInMailbox('x=ann%40x.test@y.test')).toBe(`x=${erased}@y.test`)
})

test('what mentions the address has a needle, and an erased text does not mention it', () => {
  const piece = fc.constantFrom(
    ...[
      'ann',
      'ANN',
      'jo',
      '@',
      '%40',
      '%2540',
      'x.test',
      'X.Test',
      '.',
      '-',
      '_',
      '+',
      '%2B',
      'csv',
      'com',
      ' ',
      '"',
      '<',
      '>',
    ],
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('')
      const erased = ann.replaceIn(text)
      if (erased === text) return
      expect(ann.needles.some((needle) => text.toLowerCase().includes(needle))).toBe(true)
      expect(ann.replaceIn(erased)).toBe(erased)
    }),
    { numRuns: 3_000 },
  )
})

test('a text of 2 MiB costs bounded time, whatever it repeats', () => {
  const watch = cpuStopwatch()
  for (const part of [
    'ann@x.test',
    'ann@x.test.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a',
    'ann@x.test.',
    '%25',
    'ann',
    'ann@x.test-',
  ])
    ann.replaceIn(part.repeat(2 ** 21 / part.length))
  // A quadratic search takes minutes.
  expect(watch.ms()).toBeLessThan(20_000)
})
