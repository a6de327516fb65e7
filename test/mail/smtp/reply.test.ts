import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ParsedReply, ReplyParser, toReply } from '../../../mail/smtp/reply.ts'
import { cpuStopwatch } from '../../harness/stopwatch.ts'

function parse(text: string | Buffer, size = Number.POSITIVE_INFINITY): ParsedReply[] {
  const parser = new ReplyParser()
  const bytes = Buffer.from(text)
  const parsed: ParsedReply[] = []
  for (let i = 0; i < bytes.length; i += size) parsed.push(...parser.push(bytes.subarray(i, i + size)))
  return parsed
}

function read(text: string | Buffer) {
  const [parsed] = parse(text)
  return parsed?.kind === 'reply' ? toReply(parsed) : parsed
}

test('a reply of one line is read, with and without text', () => {
  expect(parse('250 ok\r\n')).toEqual([{ kind: 'reply', code: 250, lines: ['ok'] }])
  expect(parse('250\r\n')).toEqual([{ kind: 'reply', code: 250, lines: [''] }])
  expect(parse('250 \r\n')).toEqual([{ kind: 'reply', code: 250, lines: [''] }])
})

test('several lines are one reply, and several replies may come at once', () => {
  expect(parse('250-mx\r\n250-SIZE 10\r\n250 HELP\r\n354 go\r\n')).toEqual([
    { kind: 'reply', code: 250, lines: ['mx', 'SIZE 10', 'HELP'] },
    { kind: 'reply', code: 354, lines: ['go'] },
  ])
})

test('a reply is the same in whatever pieces it comes', () => {
  const text = '250-mx.test at your service\r\n250-PIPELINING\r\n250 8BITMIME ü\r\n550 5.1.1 nobody\r\n'
  for (let size = 1; size <= text.length; size++) expect(parse(text, size)).toEqual(parse(text))
})

test('half a reply is awaited, and reported as half', () => {
  const parser = new ReplyParser()
  expect(parser.push(Buffer.from('250-mx\r\n25'))).toEqual([])
  expect(parser.midway()).toBe(true)
  expect(parser.push(Buffer.from('0 ok\r\n'))).toHaveLength(1)
  expect(parser.midway()).toBe(false)
})

test.each([
  ['a bare CR', '250 o\rk\r\n', 'a bare CR'],
  ['CR CR LF', '250 ok\r\r\n', 'a bare CR'],
  ['no code', 'hello\r\n', 'no reply code'],
  ['two digits', '25 ok\r\n', 'no reply code'],
  ['four digits', '2500 ok\r\n', 'no reply code'],
  ['a code below 200', '150 ok\r\n', 'no reply code'],
  ['a code over 599', '650 ok\r\n', 'no reply code'],
  ['no separator', '250ok\r\n', 'no reply code'],
  ['a tab as separator', '250\tok\r\n', 'no reply code'],
  ['codes of two classes', '250-mx\r\n550 no\r\n', 'a reply of two classes'],
  ['digits of another script', '２５０ ok\r\n', 'no reply code'],
  ['lines that never end', '250-x\r\n'.repeat(10_000), 'too long'],
  ['long lines', `250-${'x'.repeat(1_000)}\r\n`.repeat(70), 'too long'],
])('%s is malformed', (_, text, detail) => {
  for (const size of [1, 7, 100_000]) expect(parse(text, size)).toEqual([{ kind: 'malformed', detail }])
})

test.each([
  ['lines that end with LF alone', '250-mx\n250 ok\n', [[250, 'mx', 'ok']]],
  [
    'empty lines between replies',
    '\r\n220 hello\r\n\r\n\n250 ok\r\n',
    [
      [220, 'hello'],
      [250, 'ok'],
    ],
  ],
  ['joined lines with different codes of one class', '250-first\r\n251 last\r\n', [[251, 'first', 'last']]],
  [
    'two final lines, which are two replies',
    '250 ok\r\n250 queued\r\n',
    [
      [250, 'ok'],
      [250, 'queued'],
    ],
  ],
])('servers bend the rules, and are understood: %s', (_, text, replies) => {
  for (const size of [1, 7, 100_000])
    expect(parse(text, size)).toEqual(replies.map(([code, ...lines]) => ({ kind: 'reply', code, lines })))
})

test('text that is not UTF-8 is Latin-1', () => {
  expect(read(Buffer.from('550 5.2.2 Boîte pleine\r\n', 'latin1'))).toMatchObject({ text: 'Boîte pleine' })
})

test('a reply of 1 MB is malformed after 64 KB, and nothing of it is kept', () => {
  const parser = new ReplyParser()
  const parsed: ParsedReply[] = []
  for (let i = 0; i < 1_000; i++) parsed.push(...parser.push(Buffer.alloc(1_024, '250-'.padEnd(64, 'x'))))
  expect(parsed).toEqual([{ kind: 'malformed', detail: 'too long' }])
  expect(parser.midway()).toBe(false)
})

test('a reply of 65,536 octets is read, and one of one more is too long', () => {
  const line = `550-${'x'.repeat(58)}\r\n`
  const reply = (octets: number) => `${line.repeat(1_023)}550 ${'x'.repeat(octets - 1_023 * 64 - 6)}\r\n`
  expect(parse(reply(65_536))).toMatchObject([{ kind: 'reply', code: 550 }])
  expect(parse(reply(65_537))).toEqual([{ kind: 'malformed', detail: 'too long' }])
})

test('nothing after a malformed reply is read', () => {
  expect(parse('oops\r\n250 ok\r\n')).toHaveLength(1)
})

test.each([
  ['550 5.1.1 no such user', { code: 550, enhanced: '5.1.1', text: 'no such user' }],
  ['550-5.1.1 no such\r\n550 5.1.1 user', { code: 550, enhanced: '5.1.1', text: 'no such user' }],
  ['550 550 5.1.1 no such user', { code: 550, enhanced: '5.1.1', text: 'no such user' }],
  ['550-550 no such\r\n550 550-user', { code: 550, text: 'no such user' }],
  ['550 #5.1.0 Address rejected.', { code: 550, enhanced: '5.1.0', text: 'Address rejected.' }],
  ['550 5.1.1: no', { code: 550, enhanced: '5.1.1', text: 'no' }],
  ['550 5.1.1', { code: 550, enhanced: '5.1.1', text: '' }],
  ['550 05.1.1 no', { code: 550, text: '05.1.1 no' }],
  ['550 5.01.001 no', { code: 550, enhanced: '5.1.1', text: 'no' }],
  ['550 5.1 no', { code: 550, text: '5.1 no' }],
  ['550 5.1.1.2 no', { code: 550, text: '5.1.1.2 no' }],
  ['550 4.2.2 full', { code: 550, enhanced: '4.2.2', text: 'full' }],
  ['450 5.2.2 full', { code: 450, text: '5.2.2 full' }],
  [
    '550-first\r\n550-5.7.1 second\r\n550 5.1.1 third',
    { code: 550, enhanced: '5.7.1', text: 'first second 5.1.1 third' },
  ],
  ['550-\r\n550 \r\n', { code: 550, text: '' }],
  ['550 see http://x/550 5.1.1', { code: 550, text: 'see http://x/550 5.1.1' }],
])('%j is understood', (text, reply) => {
  expect(read(`${text}\r\n`)).toEqual(reply)
})

test('control characters and characters that reorder text are removed', () => {
  const reply = read('550 5.1.1 a\u0000b\u001b[31mc\td\u007f\u0085e\u202ef\u2066g\u200bh\r\n')
  expect(reply).toEqual({ code: 550, enhanced: '5.1.1', text: 'a b [31mc d e f g h' })
})

test('the text has at most 1,024 bytes and ends with a whole character', () => {
  const { text } = read(`550 ${'é€😀'.repeat(400)}\r\n`) as { text: string }
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_024)
  expect(Buffer.byteLength(text)).toBeGreaterThan(1_020)
  expect('é€😀'.repeat(400).startsWith(text)).toBe(true)
})

test('any bytes are replies or malformed', () => {
  const line = fc.oneof(
    fc.constant('250 ok\r\n'),
    fc.constant('250-'),
    fc.string().map((text) => `550 ${text}\r\n`),
  )
  const bytes = fc.oneof(fc.uint8Array(), line.map(Buffer.from))
  fc.assert(
    fc.property(fc.array(bytes), fc.integer({ min: 1, max: 64 }), (pieces, size) => {
      for (const parsed of parse(Buffer.concat(pieces), size)) {
        if (parsed.kind === 'malformed') continue
        const { code, text } = toReply(parsed)
        expect(code).toBeGreaterThanOrEqual(200)
        expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_024)
      }
    }),
  )
})

test('a hostile reply is read in time linear in its length', () => {
  const watch = cpuStopwatch()
  for (const words of ['550 '.repeat(4_000), '5.1.1 '.repeat(2_600), '\u202e '.repeat(4_000), '-'.repeat(16_000)])
    read(`550 ${words}\r\n`)
  // A quadratic pattern takes seconds.
  expect(watch.ms()).toBeLessThan(200)
})

test('reading a reply costs what its octets cost, in whatever pieces it comes', () => {
  const cost = (text: string) => {
    const watch = cpuStopwatch()
    parse(text, 1)
    return watch.ms()
  }
  const inLines = (length: number) => cost(`250-${'x'.repeat(length - 6)}\r\n`.repeat(60_000 / length))
  inLines(60)
  // A parser that reads again what came before needs 40 times the time for a long line.
  expect(inLines(60_000)).toBeLessThan(5 * inLines(60) + 20)
})

test.each([
  ['a line that never ends', `250 ${'x'.repeat(70_000)}`],
  ['a long line', `250 ${'x'.repeat(70_000)}\r\n`],
])('%s is malformed', (_, text) => {
  for (const size of [1, 7, 100_000])
    expect(parse(text, size)).toEqual([{ kind: 'malformed', detail: expect.any(String) }])
})
