/** A token other than a string. A string can be longer than a regular expression can match. */
const TOKEN = /([{}[\],:])|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y

/** What the grammar allows at a position: a value, a name, what follows either, or nothing more. */
type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | ':' | ', or ]' | ', or }' | 'end'

/** An object or a list that contains the current token. */
interface Level {
  isList: boolean
  /** The names of an object before the current token. */
  names: Set<string>
}

/** Called with each name of a text that is JSON so far; true ends the walk. */
type OnName = (name: string, at: number, level: Level) => boolean

/**
 * Where a text stops being JSON, and what would belong there: `: line 3, column 14; a value is expected there`. The
 * engine's own messages have no position for most faults, and quote the text.
 */
export function positionOfFault(text: string): string {
  const { at, expected } = walk(text)
  const fault = at >= text.length ? 'it ends too early' : `${WANTED[expected]} is expected there`
  return `: ${place(text, at)}; ${fault}`
}

/** The name that a JSON text has twice in one object: `the name "to" twice (line 3, column 14)`. */
export function duplicateName(text: string): string {
  let duplicate = ''
  walk(text, (name, at, { names }) => {
    if (names.has(name)) duplicate = `the name ${JSON.stringify(name.slice(0, 64))} twice (${place(text, at)})`
    names.add(name)
    return duplicate !== ''
  })
  return duplicate || 'a name twice'
}

const WANTED: Record<Expected, string> = {
  value: 'a value',
  'value or ]': 'a value or "]"',
  name: 'a name in double quotes',
  'name or }': 'a name in double quotes or "}"',
  ':': 'a ":"',
  ', or ]': 'a "," or "]"',
  ', or }': 'a "," or "}"',
  end: 'nothing more',
}

/** Walks a text token by token until it ends, stops being JSON or `onName` returns true. */
function walk(text: string, onName?: OnName): { at: number; expected: Expected } {
  const levels: Level[] = []
  let expected: Expected = 'value'
  for (let at = skipSpace(text, 0); ; ) {
    const token = tokenAt(text, at)
    const next: Expected | undefined = token && follow(expected, token, levels)
    if (!token || !next) return { at, expected }
    // Names are parsed only for a caller that wants them.
    if (onName && next === ':' && onName(JSON.parse(text.slice(at, token.end)), at, levels.at(-1)!)) {
      return { at, expected }
    }
    expected = next
    at = skipSpace(text, token.end)
  }
}

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const BACKSLASH = 0x5c

function skipSpace(text: string, at: number): number {
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code !== SPACE && code !== LF && code !== CR && code !== TAB) break
  }
  return at
}

function place(text: string, at: number): string {
  let line = 1
  let lineStart = 0
  for (let i = 0; i < at; i++) {
    if (text.charCodeAt(i) !== LF) continue
    line++
    lineStart = i + 1
  }
  return `line ${line}, column ${at - lineStart + 1}`
}

interface Token {
  mark: string | undefined
  isString: boolean
  end: number
}

function tokenAt(text: string, at: number): Token | undefined {
  if (text[at] === '"') return stringAt(text, at)
  TOKEN.lastIndex = at
  const match = TOKEN.exec(text)
  return match ? { mark: match[1], isString: false, end: TOKEN.lastIndex } : undefined
}

function stringAt(text: string, at: number): Token | undefined {
  for (let i = at + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) return { mark: undefined, isString: true, end: i + 1 }
    if (code < SPACE) return undefined
    if (code === BACKSLASH) {
      const length = escapeLength(text, i)
      if (length === 0) return undefined
      i += length - 1
    }
  }
  return undefined
}

/** The characters that may follow the backslash of an escape, other than `u`. */
const ESCAPED = new Set(Array.from('"\\/bfnrt', (letter) => letter.charCodeAt(0)))
const LETTER_U = 0x75

/** The length of an escape in characters; 0 when it is not valid. */
function escapeLength(text: string, at: number): number {
  const letter = text.charCodeAt(at + 1)
  if (ESCAPED.has(letter)) return 2
  return letter === LETTER_U && /^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6)) ? 6 : 0
}

/** What the grammar allows after a token; undefined when the token itself is not allowed here. */
function follow(expected: Expected, { mark, isString }: Token, levels: Level[]): Expected | undefined {
  const after = (): Expected => (levels.length === 0 ? 'end' : levels.at(-1)!.isList ? ', or ]' : ', or }')
  const close = (isList: boolean) => {
    if (levels.at(-1)?.isList !== isList) return undefined
    levels.pop()
    return after()
  }
  if (mark === ']') return expected === 'value or ]' || expected === ', or ]' ? close(true) : undefined
  if (mark === '}') return expected === 'name or }' || expected === ', or }' ? close(false) : undefined
  if (mark === ',') return expected === ', or ]' ? 'value' : expected === ', or }' ? 'name' : undefined
  if (mark === ':') return expected === ':' ? 'value' : undefined
  if (expected === 'name' || expected === 'name or }') return isString ? ':' : undefined
  if (expected !== 'value' && expected !== 'value or ]') return undefined
  if (mark === undefined) return after()
  levels.push({ isList: mark === '[', names: new Set() })
  return mark === '[' ? 'value or ]' : 'name or }'
}
