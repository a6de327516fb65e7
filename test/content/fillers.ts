// What a body may be full of. Each of these once cost, or could cost, more than plain text: a string for each line, a
// callback for each escape, a search that begins again at each octet.

const MULTIBYTE = '日本語の文章です。'

/** Repeated up to a size. */
export const FILLERS: Record<string, string> = {
  'line ends': '\r\n',
  'line feeds': '\n',
  blanks: ' ',
  'blanks before a letter': `${' '.repeat(980)}A`,
  tabs: '\t',
  'blanks and tabs': ' \t',
  'escaped octets': '=41',
  'escaped line ends': '=0D=0A',
  'broken escapes': '=4=',
  'soft line breaks': '=\r\n',
  'equals signs': '=',
  delimiters: '--\r\n',
  'close delimiters': '--b--\r\n',
  'delimiters of parts': '--b\r\n',
  'parts in parts': '--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n',
  hyphens: '-',
  'lines of one character': 'A\r\n',
  'lines of base64': 'QUFB\r\n',
  dots: '.\r\n',
  'dots in a row': '.',
  folds: '\r\n ',
  'folded letters': 'A\r\n ',
  'empty fields': 'a:\r\n',
  colons: ':',
  'opening brackets': '<',
  'closing brackets': '>',
  tags: '<a>',
  'open tags': '<a ',
  comments: '<!--',
  scripts: '<script>',
  'paragraphs of HTML': '<p>',
  'links of HTML': '<a href="',
  ampersands: '&',
  entities: '&amp;',
  'numbered entities': '&#65;',
  quotes: '"',
  'single quotes': "'",
  'escaped quotes': '\\"',
  backslashes: '\\',
  commas: ',',
  semicolons: ';',
  parameters: ';a=',
  'opening lists': '[',
  'opening objects': '{"a":',
  'empty lists': '[],',
  'opening parentheses': '(',
  'letters of three octets': MULTIBYTE,
  'letters of four octets': '😀',
  'letters of one octet beyond ASCII': '\u00e9',
  'encoded words': '=?utf-8?q?=41?= ',
  'open encoded words': '=?',
  addresses: 'a@b.example ',
  'at signs': '@',
  'reply codes': '550 5.1.1 ',
  calendars: 'METHOD:REQUEST\r\n',
  'calendars without an end': 'METHOD;',
  'return paths': 'b+00000000000000000000000000',
  'lines From': 'From a\r\n',
}

/** What plain text is full of. */
export const PLAIN = 'The quick brown fox jumps over the lazy dog and goes home again.\r\n'

/** Bytes of a size that the unit fills. The last one may be cut. */
export function filled(unit: string, bytes: number): Buffer {
  return Buffer.alloc(bytes, unit)
}

/** The most octets of a line of mail, without its end. */
const LINE = 990

/** The same as mail: CRLF alone ends a line, and no line is too long. Whole letters stay whole. */
export function asMail(unit: string, bytes: number): Buffer {
  const once = unit.replace(/\r?\n/g, '\r\n')
  const size = Buffer.byteLength(once)
  const perLine = once.includes('\n') ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(LINE / size))
  const line = perLine === Number.POSITIVE_INFINITY ? once : `${once.repeat(perLine)}\r\n`
  const lines = Buffer.from(line.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(line)))))
  return lines.subarray(-2).toString() === '\r\n' ? lines : Buffer.concat([lines, Buffer.from('\r\n')])
}
