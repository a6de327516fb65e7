import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stuffDots } from '../../../mail/smtp/content.ts'

function stuff(...pieces: string[]): string {
  return Buffer.concat(stuffDots(pieces.map((piece) => Buffer.from(piece, 'latin1'))).pieces).toString('latin1')
}

test.each([
  [['a\r\n'], 'a\r\n'],
  [['.\r\n'], '..\r\n'],
  [['..\r\n'], '...\r\n'],
  [['a\r\n.\r\nb\r\n'], 'a\r\n..\r\nb\r\n'],
  [['a.b\r\n.c\r\n..\r\n'], 'a.b\r\n..c\r\n...\r\n'],
  [['a\r\n', '.\r\n'], 'a\r\n..\r\n'],
  [['a\r', '\n', '.', '\r\n'], 'a\r\n..\r\n'],
  [['a\r\n', '', '.b\r\n'], 'a\r\n..b\r\n'],
  [['a', '.b\r\n'], 'a.b\r\n'],
  [['\r\n'], '\r\n'],
])('a dot at the start of a line of %j is doubled', (pieces, wire) => {
  expect(stuff(...pieces)).toBe(wire)
})

test.each([
  ['a\n.\r\n'],
  ['a\r.\r\n'],
  ['a\n.\n'],
  ['a\r\n\0.\r\n'],
  ['a\r\n.\r'],
  ['a\r\r\n'],
  ['\n'],
  ['\na\r\n'],
  ['a\0b\r\n'],
  ['ü\r\n'],
  ['a\r\n.\r', 'b\r\n'],
  ['a\r', 'b\r\n'],
  ['a', '\n'],
  ['a'],
  ['a\r\nb'],
  [''],
  [],
])('%j never leaves: some server might see the end of the message in it', (...pieces) => {
  expect(() => stuff(...pieces)).toThrow(TypeError)
})

test('content that needs no doubled dot is not copied', () => {
  const piece = Buffer.from('a\r\nb\r\n')
  expect(stuffDots([piece]).pieces[0]!.buffer).toBe(piece.buffer)
})

test('a server reads back exactly the content that was sent, however it was cut, and sees no end before its end', () => {
  const word = fc.constantFrom('.', '..', '\r\n', 'a', ' ', '.\r\n', '\r\n.', '\r\n.\r\n', '\t')
  fc.assert(
    fc.property(fc.array(fc.array(word).map((words) => words.join(''))), (parts) => {
      const pieces = [...parts, '\r\n']
      const wire = stuff(...pieces)
      expect(wire.includes('\r\n.\r\n') || wire.startsWith('.\r\n')).toBe(false)
      expect(wire.replace(/(^|\r\n)\./g, '$1')).toBe(pieces.join(''))
      expect(stuffDots(pieces.map((piece) => Buffer.from(piece))).size).toBe(pieces.join('').length)
    }),
  )
})

test('content leaves exactly when each CR and LF is part of CRLF, it has no NUL, and it ends with CRLF', () => {
  const octet = fc.constantFrom('\r\n', '\r\n', '\r\n', 'a', '.', '\r', '\n', '\0')
  // Line ends are searched in parts of 64 KiB: the filler puts their borders anywhere.
  const filler = fc.constantFrom('', 'x'.repeat(65_534), 'x'.repeat(65_535), '\r\n'.repeat(32_767))
  const cut = fc.array(octet, { maxLength: 6 }).map((octets) => octets.join(''))
  fc.assert(
    fc.property(filler, fc.array(cut, { maxLength: 4 }), (first, parts) => {
      const pieces = [first + (parts[0] ?? ''), ...parts.slice(1), '\r\n']
      const text = pieces.join('')
      const isSafe = !/\0|\r(?!\n)|(?<!\r)\n/.test(text)
      if (isSafe) expect(stuff(...pieces)).toBe(text.replace(/(^|\r\n)\./g, '$1..'))
      else expect(() => stuff(...pieces)).toThrow(TypeError)
    }),
    { numRuns: 500 },
  )
})

const inLatin1 = (text: string, at: number) =>
  [text.slice(0, at), text.slice(at)].map((part) => Buffer.from(part, 'latin1'))

test('octets beyond ASCII are UTF-8 in the header, and declared in the body, wherever the content is cut', () => {
  const [body, header] = ['Subject: a\r\n\r\nGr\xfc\xdfe\r\n', 'Subject: Gr\xc3\xbc\xc3\x9fe\r\n\r\na\r\n']
  for (let at = 0; at < body.length; at++) {
    expect(() => stuffDots(inLatin1(body, at))).toThrow('the content must be 7-bit')
    expect(stuffDots(inLatin1(body, at), true)).toMatchObject({ isEightBit: true, hasUtf8Header: false })
  }
  for (let at = 0; at < header.length; at++) {
    expect(stuffDots(inLatin1(header, at))).toMatchObject({ isEightBit: false, hasUtf8Header: true })
    const latin1 = header.replace('\xc3\xbc\xc3\x9f', '\xfc\xdf')
    expect(() => stuffDots(inLatin1(latin1, at), true)).toThrow('the header must be UTF-8')
  }
})
