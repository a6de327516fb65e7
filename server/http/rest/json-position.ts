/** Called with each name of a text, and with the names before it in its object. */
type OnName = (name: string, at: number, names: Set<string>) => void

/** A place where a text stops being JSON, and what would belong there. */
class JsonFault extends Error {
  readonly at: number
  readonly wanted: string

  constructor(at: number, wanted: string) {
    super(wanted)
    this.at = at
    this.wanted = wanted
  }
}

/**
 * Where a text stops being JSON, and what would belong there: `: line 3, column 14; a value is expected there`. The
 * engine's own messages have no position for most faults, and quote the text.
 */
export function positionOfFault(text: string): string {
  try {
    walk(text)
    return ''
  } catch (error) {
    const { at, wanted } = error as JsonFault
    return `: ${place(text, at)}; ${at >= text.length ? 'it ends too early' : `${wanted} is expected there`}`
  }
}

/** The name that a JSON text has twice in one object: `the name "to" twice (line 3, column 14)`. */
export function duplicateName(text: string): string {
  let duplicate = ''
  walk(text, (name, at, names) => {
    if (names.has(name)) duplicate ||= `the name ${JSON.stringify(name.slice(0, 64))} twice (${place(text, at)})`
    names.add(name)
  })
  return duplicate || 'a name twice'
}

/** Walks a text that is nested no deeper than a request may be. Throws a JsonFault. */
function walk(text: string, onName?: OnName): void {
  let at = endOfSpace(text, 0)

  /** Goes on behind the token that ends at `end`. */
  function pass(end: number | undefined, wanted: string): void {
    if (end === undefined) throw new JsonFault(at, wanted)
    at = endOfSpace(text, end)
  }

  /** Goes on behind one of two marks. Returns whether it is the second one, which ends a list or an object. */
  function passEither(mark: string, end: string): boolean {
    const isEnd = text[at] === end
    pass(isEnd || text[at] === mark ? at + 1 : undefined, `a "${mark}" or "${end}"`)
    return isEnd
  }

  function value(wanted: string): void {
    if (text[at] === '[') list()
    else if (text[at] === '{') object()
    else pass(text[at] === '"' ? endOfString(text, at) : endOfLiteral(text, at), wanted)
  }

  function list(): void {
    pass(at + 1, '')
    if (text[at] === ']') pass(at + 1, '')
    else {
      value('a value or "]"')
      while (!passEither(',', ']')) value('a value')
    }
  }

  function object(): void {
    const names = new Set<string>()
    pass(at + 1, '')
    if (text[at] === '}') pass(at + 1, '')
    else {
      member(names, 'a name in double quotes or "}"')
      while (!passEither(',', '}')) member(names, 'a name in double quotes')
    }
  }

  function member(names: Set<string>, wanted: string): void {
    const nameAt = at
    const nameEnd = text[at] === '"' ? endOfString(text, at) : undefined
    pass(nameEnd, wanted)
    // Names are parsed only for a caller that wants them.
    onName?.(JSON.parse(text.slice(nameAt, nameEnd)), nameAt, names)
    pass(text[at] === ':' ? at + 1 : undefined, 'a ":"')
    value('a value')
  }

  value('a value')
  if (at < text.length) throw new JsonFault(at, 'nothing more')
}

const LITERAL = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y

/** White space and strings can be longer than a regular expression can match. */
function endOfSpace(text: string, start: number): number {
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at)
    if (code !== SPACE && code !== LF && code !== CR && code !== TAB) return at
  }
}

function endOfLiteral(text: string, at: number): number | undefined {
  LITERAL.lastIndex = at
  return LITERAL.test(text) ? LITERAL.lastIndex : undefined
}

const [TAB, LF, CR, SPACE] = [0x09, 0x0a, 0x0d, 0x20]
const QUOTE = 0x22
const BACKSLASH = 0x5c
const FIRST_PRINTABLE = 0x20
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** Undefined for a string that is not valid. */
function endOfString(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code < FIRST_PRINTABLE) return undefined
    if (code !== BACKSLASH) continue
    ESCAPE.lastIndex = at
    if (!ESCAPE.test(text)) return undefined
    at = ESCAPE.lastIndex - 1
  }
  return undefined
}

function place(text: string, at: number): string {
  let line = 1
  for (let i = text.indexOf('\n'); i >= 0 && i < at; i = text.indexOf('\n', i + 1)) line++
  return `line ${line}, column ${at - text.lastIndexOf('\n', at - 1)}`
}
