import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Condenser, condense } from '../../server/inbound/condense.ts'
import { anyCharacter } from '../harness/text.ts'

// The bounds are those of a mail, and of its parts; a copy of the message has smaller ones.
const MAX_BYTES = 192 * 1024
const MAX_LINES = 2_500
const MAX_LINE_BYTES = 4_096

interface Part {
  type: string
  encoding: string
  lines: number
  line: string
}

const part = fc.record<Part>({
  type: fc.constantFrom(
    'text/plain',
    'message/delivery-status',
    'message/rfc822',
    'Message/Global',
    'text/rfc822-headers',
    'image/png',
  ),
  encoding: fc.constantFrom('7bit', 'base64', 'Base64'),
  lines: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 200, max: 1_500 })),
  line: fc.constantFrom(
    'word',
    '',
    ' ',
    '- x',
    '--x',
    '--other--',
    'QUJD',
    'QQ==',
    'long '.repeat(50),
    'x'.repeat(4_095),
    'x'.repeat(4_096),
    'x'.repeat(5_000),
  ),
})
const parts = fc.array(part, { minLength: 1, maxLength: 6 })
const isCopy = ({ type }: Part) => /^message\/(rfc822|global)$|rfc822-headers/i.test(type)

const header = (type: string, encoding: string) => `Content-Type: ${type}\nContent-Transfer-Encoding: ${encoding}\n\n`
const mailOf = (parts: Part[], quote: '"' | '') =>
  [
    `Subject: failure\nContent-Type: multipart/report;\n boundary=${quote}b1${quote}\n\n`,
    ...parts.map(({ type, encoding, lines, line }) => `--b1\n${header(type, encoding)}${`${line}\n`.repeat(lines)}`),
    '--b1--\nafter it\n',
  ].join('')

/** Pushes a mail in pieces of these lengths, again and again. */
function inPieces(mail: Buffer, lengths: number[]) {
  const condenser = new Condenser()
  for (let at = 0, i = 0; at < mail.length; i++) {
    const length = lengths[i % lengths.length]!
    condenser.push(mail.subarray(at, at + length))
    expect(condenser.bytes()).toBeLessThanOrEqual(MAX_BYTES + MAX_LINE_BYTES + 1)
    at += length
  }
  return condenser.end().toString('latin1')
}

test('how a mail arrives in pieces changes nothing', () => {
  const lengths = fc.array(fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1_000, max: 70_000 })), {
    minLength: 1,
    maxLength: 8,
  })
  fc.assert(
    fc.property(parts, lengths, (parts, lengths) => {
      const mail = Buffer.from(mailOf(parts, '').slice(0, 400_000))
      expect(inPieces(mail, lengths)).toBe(condense(mail).toString('latin1'))
    }),
    { numRuns: 60 },
  )
})

test('every part keeps its header and the beginning of its text, within its bounds', () => {
  fc.assert(
    fc.property(parts, fc.constantFrom('"' as const, '' as const), (parts, quote) => {
      const mail = mailOf(parts, quote)
      const kept = condense(Buffer.from(mail)).toString('latin1')
      expect(kept.length).toBeLessThanOrEqual(MAX_BYTES)
      expect(kept.split('\n').length - 1).toBeLessThanOrEqual(MAX_LINES)
      const bodies = kept.split(/^--b1(?:--)?\n/m).slice(1)
      const isWhole = bodies.length === parts.length + 1
      // A mail that is full before its end is cut there.
      if (!isWhole) expect(Math.max(kept.length / MAX_BYTES, kept.split('\n').length / MAX_LINES)).toBeGreaterThan(0.9)
      for (const [i, part] of parts.slice(0, bodies.length - 1).entries()) {
        const start = header(part.type, part.encoding)
        expect(bodies[i]!.slice(0, start.length)).toBe(start)
        const text = bodies[i]!.slice(start.length)
        const [maxBytes, maxLines] = isCopy(part) ? [16_384, 250] : [49_152, 1_200]
        const line = part.line.slice(0, MAX_LINE_BYTES)
        const padded = /base64/i.test(part.encoding) ? line.split('=').length - 1 : 0
        const lines = Math.min(
          part.lines,
          maxLines - 3,
          Math.floor((maxBytes - start.length) / (line.length + 1)),
          padded ? 200 / padded : Number.POSITIVE_INFINITY,
        )
        expect(text).toBe(`${line}\n`.repeat(lines))
      }
    }),
    { numRuns: 150 },
  )
})

test('a mail is cut where a line does not fit, and no shorter line after it is kept', () => {
  const long = `${'x'.repeat(4_000)}\n`.repeat(11)
  const part = (text: string) => `--b\n\n${text}`
  const mail = `Content-Type: multipart/mixed; boundary=b\n\n${[long, long, long, long, long].map(part).join('')}--b\n\nlast\n--b--\n`
  const kept = condense(Buffer.from(mail)).toString()
  expect(mail.startsWith(kept)).toBe(true)
  expect(kept.length).toBeGreaterThan(MAX_BYTES - 4_001)
})

/** A mail of this many bytes, of parts of text. Its last line is one of `z`. */
function mailOfBytes(bytes: number): Buffer {
  const line = `${'x'.repeat(3_999)}\n`
  let mail = 'Content-Type: multipart/mixed; boundary=b\n\n'
  while (mail.length + 50_000 < bytes) mail += `--b\n\n${line.repeat(12)}`
  mail += '--b\n\n'
  while (mail.length + 4_000 < bytes) mail += line
  return Buffer.from(`${mail}${'z'.repeat(bytes - mail.length - 1)}\n`)
}

test('a mail of exactly its bound is kept whole; of a larger one, the lines that fit', () => {
  const mail = mailOfBytes(MAX_BYTES)
  expect(mail).toHaveLength(MAX_BYTES)
  expect(condense(Buffer.concat([mail, Buffer.from('more\n')])).equals(mail)).toBe(true)
  const larger = mailOfBytes(MAX_BYTES + 1)
  expect(condense(larger).equals(larger.subarray(0, larger.indexOf('z')))).toBe(true)
})

test('parts of text are kept up to their bound of lines, and all together up to theirs', () => {
  const part = `--b\n\n${'x\n'.repeat(1_199)}`
  const mail = `Content-Type: multipart/mixed; boundary=b\n\n${part}${part}${part}`
  const kept = condense(Buffer.from(mail)).toString()
  // Each of the three delimiters costs three lines more.
  expect(kept).toBe(`${mail.split('\n', MAX_LINES - 9).join('\n')}\n`)
})

test('a part of exactly its bytes is whole, and one byte more is one too many', () => {
  const kept = (last: number) =>
    condense(Buffer.from(`--b\n\n${`${'x'.repeat(3_999)}\n`.repeat(12)}${'y'.repeat(last - 1)}\n`)).includes('y')
  const left = 48 * 1024 - '--b\n\n'.length - 48_000
  expect([kept(left), kept(left + 1)]).toEqual([true, false])
})

test.each([
  [
    'a header that is long before it',
    `${'ARC-Seal: i=1; b=abc\n def\n'.repeat(300)}Content-Type: multipart/mixed; boundary=b\n\n`,
    true,
  ],
  ['a field that another one only mentions', 'X-Note: a\n content-type: multipart/mixed; boundary=b\n\n', false],
  ['a header of many fields', `Content-Type: multipart/mixed; boundary=b\n${'X: y\n'.repeat(1_300)}\n`, true],
  ['a folded parameter', 'Content-Type: multipart/mixed;\n boundary=b\n (mixed)\n\n', true],
  ['a field of another name', 'X-Content-Type: multipart/mixed; boundary=b\n\n', false],
  ['a field in the text', 'Subject: x\n\nContent-Type: multipart/mixed; boundary=b\n\n', false],
])('only a boundary of the header divides a mail: %s', (_, header, divides) => {
  const mail = `${header}${'x\n'.repeat(1_300)}--b\n\nlast\n`
  expect(condense(Buffer.from(mail)).includes('last')).toBe(divides)
})

test('fields of other names make neither a copy nor base64', () => {
  const text = '=\n'.repeat(400)
  const kept = (field: string) =>
    condense(Buffer.from(`${field}\n\n${text}`))
      .toString()
      .split('=').length - 1
  expect([kept('Content-Type: message/rfc822'), kept('X-Content-Type: message/rfc822')]).toEqual([248, 400])
  const encoding = 'Content-Transfer-Encoding: base64'
  expect([kept(encoding), kept(`X-${encoding}`)]).toEqual([200, 400])
})

test('parts without parts of their own use up no boundaries', () => {
  const parts = '--b\n\nx\n'.repeat(25)
  const inner = `--b\nContent-Type: multipart/mixed; boundary=late\n\n${'x\n'.repeat(1_300)}--late\n\nlast\n`
  const mail = `Content-Type: multipart/mixed; boundary=b\n\n${parts}${inner}`
  expect(condense(Buffer.from(mail)).includes('last')).toBe(true)
})

test('a small mail stays as it is, with or without a line end at its end', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: anyCharacter, maxLength: 300 }), { maxLength: 9 }).map((lines) => lines.join('\n')),
      (text) => {
        const mail = Buffer.from(text)
        expect(condense(mail)).toEqual(mail)
      },
    ),
  )
})

test('many parts cost as many lines as their readers spend on them', () => {
  const kept = condense(Buffer.from(`Content-Type: multipart/mixed; boundary=b\n\n${'--b\n\nx\n'.repeat(2_000)}`))
  const delimiters = kept.toString().split('--b\n').length - 1
  // Each has a delimiter, an empty line and a line of text, and costs three lines more.
  expect(delimiters).toBe(Math.ceil((MAX_LINES - 2) / 6))
})

test('what a full part still holds is no header', () => {
  const body = 'Content-Type: multipart/mixed; boundary=late\n\n--late\n\nx\n'
  const filler = 'x\n'.repeat(1_300)
  const mail = `Content-Type: multipart/mixed; boundary=b\n\n--b\n\n${body}${filler}--late\n\nend\n--b\n\nlast\n--b--\n`
  const kept = condense(Buffer.from(mail)).toString()
  expect([kept.includes('end'), kept.includes('last')]).toEqual([false, true])
})

test('boundaries beyond the twentieth are text', () => {
  const nested = Array.from(
    { length: 22 },
    (_, i) => `--b${i}\nContent-Type: multipart/mixed; boundary=b${i + 1}\n\n`,
  ).join('')
  const filler = 'x\n'.repeat(2_000)
  const kept = (end: number) =>
    condense(Buffer.from(`Content-Type: multipart/mixed; boundary=b0\n\n${nested}${filler}--b${end}\n\nthe end\n`))
      .toString()
      .includes('the end')
  expect([kept(19), kept(20)]).toEqual([true, false])
})
