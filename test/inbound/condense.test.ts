import fc from 'fast-check'
import { expect, test } from 'vitest'
import { condense, createCondenser } from '../../server/inbound/condense.ts'

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
  const condenser = createCondenser()
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

test('a small mail stays as it is, with or without a line end at its end', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'binary', maxLength: 300 }), { maxLength: 9 }).map((lines) => lines.join('\n')),
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
