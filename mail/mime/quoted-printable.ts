// Decoding quoted-printable (RFC 2045 6.7), by octets: an escape may be every third one.

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const EQUALS = 0x3d

const NO_DIGIT = 255
/** The value of each digit, in either case. */
const DIGITS = new Uint8Array(256).fill(NO_DIGIT)
for (const [value, digit] of [...Buffer.from('0123456789ABCDEF')].entries()) {
  DIGITS[digit] = value
  DIGITS[digit | 0x20] = value
}

/** The octets of a text whose lines end with CRLF. An escape that is none stays as it is. */
export function fromQuotedPrintable(text: Uint8Array): Buffer {
  const octets = Buffer.allocUnsafe(text.length)
  let length = 0
  /** Where the blanks before this octet begin, if they may be the end of a line, which relays add. */
  let blanks = -1
  for (let at = 0; at < text.length; at++) {
    const octet = text[at]!
    if (octet === SPACE || octet === TAB) {
      if (blanks < 0) blanks = length
      octets[length++] = octet
      continue
    }
    const isLineEnd = octet === CR && text[at + 1] === LF
    if (isLineEnd && blanks >= 0) length = blanks
    blanks = -1
    if (octet !== EQUALS) {
      octets[length++] = octet
      continue
    }
    const end = endOfSoftBreak(text, at + 1)
    if (end > 0) {
      at = end - 1
      continue
    }
    const high = DIGITS[text[at + 1] ?? 0] ?? NO_DIGIT
    const low = DIGITS[text[at + 2] ?? 0] ?? NO_DIGIT
    if (high === NO_DIGIT || low === NO_DIGIT) octets[length++] = octet
    else {
      octets[length++] = (high << 4) | low
      at += 2
    }
  }
  return octets.subarray(0, length)
}

/** Where the line after a soft break begins; 0 where there is none. */
function endOfSoftBreak(text: Uint8Array, from: number): number {
  let at = from
  while (text[at] === SPACE || text[at] === TAB) at++
  return text[at] === CR && text[at + 1] === LF ? at + 2 : 0
}
