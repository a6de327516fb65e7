/** A piece of text from outside: plain, or a character that would be invisible or change the order of others. */
export interface Piece {
  text: string
  /** The character's code point when the piece stands for one, such as `U+202E`. */
  control?: string
}

// Controls except tab and line feed; soft hyphen and zero-width characters except the joiners that scripts and emoji
// need; bidirectional controls; line and paragraph separators; tags; and halves of surrogate pairs.
const INVISIBLE =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** Names of the controls in ASCII, beginning with 0. */
const ASCII = (
  'NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI ' +
  'DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'
).split(' ')

/**
 * Splits text from outside so that every character can be seen. ASCII controls become their names (`ESC`), others their
 * code points. A line ends at CR LF or LF.
 */
export function visiblePieces(text: string): Piece[] {
  const whole = text.toWellFormed().replaceAll('\r\n', '\n')
  const pieces: Piece[] = []
  let end = 0
  for (const { 0: character, index } of whole.matchAll(INVISIBLE)) {
    if (index > end) pieces.push({ text: whole.slice(end, index) })
    pieces.push(shownControl(character))
    end = index + character.length
  }
  if (end < whole.length) pieces.push({ text: whole.slice(end) })
  return pieces
}

function shownControl(character: string): Piece {
  const code = character.codePointAt(0)!
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  return { text: code === 0x7f ? 'DEL' : (ASCII[code] ?? name), control: name }
}

/** The beginning of a long text, ended at a line or a whole character; the text itself when it is not long. */
export function beginning(text: string, { characters, lines }: { characters: number; lines: number }): string {
  const cut = text.slice(0, characters).split('\n').slice(0, lines).join('\n')
  return cut.length < text.length ? cut.replace(/[\ud800-\udbff]$/, '') : text
}
