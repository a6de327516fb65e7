const TOKEN =
  /[ \t\r\n]*(?:([{}[\],:])|("[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*")|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-]))/y

/** What may stand where: a value, a name, what follows either, or nothing more. */
type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | ':' | ', or ]' | ', or }' | 'end'

/**
 * Where a text stops being JSON, and what would belong there: `: line 3, column 14; a value is expected there`. The engine's own
 * messages have no position for most faults, and quote the text.
 */
export function positionOfFault(text: string): string {
  const lists: boolean[] = []
  let expected: Expected = 'value'
  TOKEN.lastIndex = 0
  let at = 0
  for (let token = nextToken(text); token; token = nextToken(text)) {
    const next = follow(expected, token, lists)
    if (!next) break
    expected = next
    at = TOKEN.lastIndex
  }
  at += /^[ \t\r\n]*/.exec(text.slice(at, at + 10_000))![0].length
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - before.lastIndexOf('\n')
  const found = at >= text.length ? 'it ends too early' : `${WANTED[expected]} is expected there`
  return `: line ${line}, column ${column}; ${found}`
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

interface Token {
  mark: string | undefined
  isString: boolean
}

function nextToken(text: string): Token | undefined {
  try {
    const match = TOKEN.exec(text)
    return match ? { mark: match[1], isString: match[2] !== undefined } : undefined
  } catch {
    return undefined // a string too long for the expression: the position is then that of its begin
  }
}

/** What may come after a token; undefined when the token itself does not belong here. */
function follow(expected: Expected, { mark, isString }: Token, lists: boolean[]): Expected | undefined {
  const after = (): Expected => (lists.length === 0 ? 'end' : lists.at(-1) ? ', or ]' : ', or }')
  const close = (list: boolean) => {
    if (lists.at(-1) !== list) return undefined
    lists.pop()
    return after()
  }
  if (mark === ']') return expected === 'value or ]' || expected === ', or ]' ? close(true) : undefined
  if (mark === '}') return expected === 'name or }' || expected === ', or }' ? close(false) : undefined
  if (mark === ',') return expected === ', or ]' ? 'value' : expected === ', or }' ? 'name' : undefined
  if (mark === ':') return expected === ':' ? 'value' : undefined
  if (expected === 'name' || expected === 'name or }') return isString ? ':' : undefined
  if (expected !== 'value' && expected !== 'value or ]') return undefined
  if (mark === undefined) return after()
  lists.push(mark === '[')
  return mark === '[' ? 'value or ]' : 'name or }'
}
