// biome-ignore lint/suspicious/noExplicitAny: a walk over all kinds of nodes reads fields that only some of them have.
export type Node = any

interface Phrase {
  span: { start: number; end: number }
  replacement: string
}

/** No reply has this word: the phrase that it replaces is gone, and the list stays a list. */
const NO_WORD = 'xqzqx'

/**
 * The phrases of a node in a file of word lists: each phrase between the commas of a string that `words()` is called
 * with, and each alternative of a pattern.
 */
export function phrasesOf(node: Node, parent: Node, source: string): Phrase[] {
  const text = source.slice(node.start, node.end)
  if (typeof node.value === 'string' && parent?.type === 'CallExpression' && parent.callee.name === 'words') {
    return pieces(text, node.start, betweenCommas(text.slice(1, -1)))
  }
  if (node.regex) {
    const pattern = node.regex.pattern as string
    return pieces(text, node.start, alternativesOf(pattern))
  }
  return []
}

type PhraseSpan = [from: number, to: number]

/** `from` and `to` count within the quotes or slashes. */
function pieces(text: string, start: number, found: PhraseSpan[]): Phrase[] {
  return found.flatMap(([from, to]) => {
    const piece = text.slice(from + 1, to + 1)
    const at = start + 1 + from + (piece.length - piece.trimStart().length)
    const phrase = piece.trim()
    return /\p{L}{2}/u.test(phrase) ? [{ span: { start: at, end: at + phrase.length }, replacement: NO_WORD }] : []
  })
}

const betweenCommas = (text: string): PhraseSpan[] =>
  [...text.matchAll(/[^,]+/g)].map((match) => [match.index, match.index + match[0].length])

/** The alternatives of a pattern and of its groups: of `a|b(?:c|d)`, these are `a`, `b(?:c|d)`, `c` and `d`. */
function alternativesOf(pattern: string): PhraseSpan[] {
  const found: PhraseSpan[] = []
  /** Where the alternatives of each open group begin; the outermost one is the pattern. */
  const open: number[][] = [[0]]
  const close = (end: number) => {
    const starts = open.pop() ?? []
    if (starts.length > 1) found.push(...starts.map((from, i): PhraseSpan => [from, (starts[i + 1] ?? end + 1) - 1]))
  }
  for (const { 0: token, index } of pattern.matchAll(/\\.|\[(?:\\.|[^\]])*\]|\((?:\?(?:[:=!]|<[=!]|<\w+>))?|[)|]/gs)) {
    if (token === ')') close(index)
    else if (token === '|') open.at(-1)?.push(index + 1)
    else if (token.startsWith('(')) open.push([index + token.length])
  }
  close(pattern.length)
  return found.sort(([a], [b]) => a - b)
}
