// The plain text of an HTML body, for readers without HTML and for filters that expect both. One pass in linear time,
// whatever the HTML is. It reads the few tags that give text its form, and skips all others.

/** Elements whose content is no text. */
const HIDDEN = new Set(['head', 'style', 'script', 'title', 'template', 'noscript', 'svg'])
/** Elements that begin and end a line. */
const LINES = new Set(
  'address article aside div dd dl dt fieldset footer form header li main nav section tr'.split(' '),
)
/** Elements with an empty line around them. */
const PARAGRAPHS = new Set('blockquote h1 h2 h3 h4 h5 h6 hr ol p pre table ul'.split(' '))

const ENTITIES: Record<string, string> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', shy: '', zwnj: '', zwsp: '' },
  ...{ copy: '©', reg: '®', trade: '™', euro: '€', pound: '£', yen: '¥', cent: '¢', sect: '§', deg: '°' },
  ...{ ndash: '–', mdash: '—', hellip: '…', bull: '•', middot: '·', laquo: '«', raquo: '»', times: '×' },
  ...{ lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”', sbquo: '‚', bdquo: '„', larr: '←', rarr: '→' },
  ...{ auml: 'ä', ouml: 'ö', uuml: 'ü', Auml: 'Ä', Ouml: 'Ö', Uuml: 'Ü', szlig: 'ß', eacute: 'é', egrave: 'è' },
  ...{ agrave: 'à', aacute: 'á', ccedil: 'ç', ntilde: 'ñ', oacute: 'ó', uacute: 'ú', iacute: 'í', ecirc: 'ê' },
}

interface Writer {
  text: string[]
  /** Line ends that the next words need before them. */
  lineEnds: number
  space: boolean
}

/** Lines of the text of an HTML page. A link is followed by its target, an image shows its `alt`. */
export function textOfHtml(html: string): string {
  const writer: Writer = { text: [], lineEnds: 0, space: false }
  let link: { href: string; textAt: number } | undefined
  let isPreformatted = false
  let at = 0
  while (at < html.length) {
    const open = nextTag(html, at)
    if (open > at) write(writer, decodeEntities(html.slice(at, open)), isPreformatted)
    if (open === html.length) break
    const tag = readTag(html, open)
    at = tag.end
    const { name, isEnd } = tag
    if (HIDDEN.has(name) && !isEnd) at = endOfHidden(html, at, name)
    else if (name === 'br') writer.lineEnds += 1
    else if (name === 'img') write(writer, attribute(tag.words, 'alt'), false)
    else if (name === 'td' || name === 'th') writer.space = true
    else if (name === 'a' && !isEnd) link = { href: attribute(tag.words, 'href').trim(), textAt: writer.text.length }
    else if (name === 'a' && link) {
      const shown = writer.text.slice(link.textAt).join('').trim()
      if (/^https?:/i.test(link.href) && shown !== link.href) write(writer, ` <${link.href}>`, false)
      link = undefined
    } else if (PARAGRAPHS.has(name)) writer.lineEnds = Math.max(writer.lineEnds, 2)
    else if (LINES.has(name)) writer.lineEnds = Math.max(writer.lineEnds, 1)
    if (name === 'li' && !isEnd) write(writer, '- ', true)
    if (name === 'pre') isPreformatted = !isEnd
  }
  return `${writer.text.join('').trim()}\n`
}

/** Where the next tag, comment or declaration opens, or the end of the HTML. Any other `<` is text. */
function nextTag(html: string, from: number): number {
  for (let at = from; ; at++) {
    at = html.indexOf('<', at)
    if (at < 0) return html.length
    // Many in a row: a search for each of them costs more than a look.
    while (html.charCodeAt(at + 1) === LESS) at++
    const next = html.charCodeAt(at + 1)
    if (isLetter(next) || next === SLASH || next === EXCLAMATION || next === QUESTION) return at
  }
}

const [SPACE, EXCLAMATION, SLASH, LESS, QUESTION] = [0x20, 0x21, 0x2f, 0x3c, 0x3f]

function isLetter(code: number): boolean {
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x7a
}

function write(writer: Writer, text: string, isPreformatted: boolean): void {
  if (text === '') return
  const words = isPreformatted ? text : text.replace(/[\t\n\f\r ]+/g, ' ')
  const trimmed = isPreformatted ? words : words.trim()
  if (trimmed === '') {
    writer.space ||= words !== ''
    return
  }
  const last = writer.text.at(-1)
  if (writer.lineEnds > 0 && last !== undefined) writer.text.push('\n'.repeat(Math.min(writer.lineEnds, 2)))
  else if (last !== undefined && (writer.space || words.charCodeAt(0) === SPACE) && !endsWithSpace(last)) {
    writer.text.push(' ')
  }
  writer.text.push(trimmed)
  writer.lineEnds = 0
  writer.space = !isPreformatted && words.endsWith(' ')
}

const endsWithSpace = (text: string) => /\s/.test(text.charAt(text.length - 1))

interface Tag {
  /** In lower case; empty for a comment or a declaration. */
  name: string
  isEnd: boolean
  /** What follows the name. */
  words: string
  /** Where the text after the tag begins. */
  end: number
}

/** A longer tag is read without its attributes. */
const MAX_TAG = 10_000

function readTag(html: string, open: number): Tag {
  if (html.startsWith('<!--', open)) return { name: '', isEnd: false, words: '', end: after(html, '-->', open + 4) }
  const end = after(html, '>', open + 1)
  const isEnd = html.charCodeAt(open + 1) === SLASH
  const start = isEnd ? open + 2 : open + 1
  let nameEnd = start
  while (nameEnd - start < MAX_NAME && isNameCharacter(html.charCodeAt(nameEnd))) nameEnd++
  const name = html.slice(start, nameEnd).toLowerCase()
  // Only the name of the others is read.
  const words = WITH_ATTRIBUTES.includes(name) && end - open <= MAX_TAG ? html.slice(nameEnd, end - 1) : ''
  return { name, isEnd, words, end }
}

const MAX_NAME = 21
const WITH_ATTRIBUTES = ['a', 'img']

/** A letter, or a digit behind the first one. */
const isNameCharacter = (code: number) => isLetter(code) || (code >= 0x30 && code <= 0x39)

/** The index after the next `what`, or the end of the HTML: then no later search for it begins. */
function after(html: string, what: string, from: number): number {
  const at = html.indexOf(what, from)
  return at < 0 ? html.length : at + what.length
}

function endOfHidden(html: string, from: number, name: string): number {
  const closing = new RegExp(`</${name}\\b[^>]{0,200}>?`, 'gi')
  closing.lastIndex = from
  return closing.exec(html) ? closing.lastIndex : html.length
}

const ATTRIBUTES = {
  href: /(?:^|\s)href\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i,
  alt: /(?:^|\s)alt\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i,
}

/** The value of an attribute, empty without one. `words` are the rest of a tag. */
function attribute(words: string, name: keyof typeof ATTRIBUTES): string {
  if (words === '') return ''
  const [, double, single, bare] = ATTRIBUTES[name].exec(words) ?? []
  return decodeEntities(double ?? single ?? bare ?? '')
}

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z]{2,8}));?/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    const isCharacter =
      code >= 32 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) && !(code >= 127 && code < 160)
    return isCharacter ? String.fromCodePoint(code) : ' '
  })
}
