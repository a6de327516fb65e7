import { parseSync } from 'vite'
import { type Node, phrasesOf } from './phrases.ts'

/** One small change of a source file that a test of its room should notice. */
export interface Mutant {
  file: string
  line: number
  operator: Operator
  /** The replaced text is `source.slice(start, end)`. */
  start: number
  end: number
  replacement: string
  /** What is replaced by what, in one line. */
  change: string
  /** Whether the code runs when its module is loaded, or when a function is called. */
  runs: 'on load' | 'in a function'
}

export type Operator =
  | 'condition'
  | 'comparison'
  | 'arithmetic'
  | 'logical'
  | 'literal'
  | 'regex'
  | 'statement'
  | 'return'
  | 'phrase'

interface NodePlace {
  parent: Node
  inFunction: boolean
  /** In a list of words, string and regular expressions hold phrases. */
  inWordList: boolean
}

/** All mutants of a file, in the order of its text. In a file of word lists, each phrase is its own mutant. */
export function mutantsOf(file: string, source: string, isWordList = false): Mutant[] {
  const { program, errors } = parseSync(file, source, { lang: 'ts' })
  const [error] = errors
  if (error) throw new Error(`${file}: ${error.message}`)
  const found = new Map<string, Mutant>()
  walk(program, { parent: undefined, inFunction: false, inWordList: isWordList }, (node, place) => {
    for (const [operator, target, replacement] of changesOf(node, place, source)) {
      const { start, end } = target
      if (source.slice(start, end) === replacement) continue
      found.set(`${start} ${end} ${replacement}`, {
        file,
        line: source.slice(0, start).split('\n').length,
        operator,
        start,
        end,
        replacement,
        change: `${oneLine(source.slice(start, end))} -> ${oneLine(replacement)}`,
        runs: place.inFunction ? 'in a function' : 'on load',
      })
    }
  })
  return [...found.values()].sort((a, b) => a.start - b.start || a.end - b.end)
}

const oneLine = (text: string) => {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > 80 ? `${line.slice(0, 79)}…` : line
}

/** The text with the mutant in it. A text that is no program would fail every test, and prove nothing. */
export function mutate(source: string, { file, start, end, replacement, change }: Mutant): string {
  const mutated = source.slice(0, start) + replacement + source.slice(end)
  const [error] = parseSync(file, mutated, { lang: 'ts' }).errors
  if (error) throw new Error(`${file}: ${change}: ${error.message}`)
  return mutated
}

/** Types are erased before the code runs, and the names of modules are no behaviour. */
const SKIPPED_FIELDS = new Set(['typeAnnotation', 'typeParameters', 'typeArguments', 'returnType', 'implements'])
const TRANSPARENT = /^TS(?:As|Satisfies|NonNull|Instantiation)Expression$/
const SKIPPED_NODES = /^(?:TS|Import)/
/** Calls whose effect ends with the process: no test can notice that one is missing. */
const UNREF = /\.unref\(\)$/

function walk(node: Node, place: NodePlace, visit: (node: Node, place: NodePlace) => void): void {
  if (SKIPPED_NODES.test(node.type) && !TRANSPARENT.test(node.type)) return
  visit(node, place)
  const inside = {
    ...place,
    parent: node,
    inFunction: place.inFunction || /Function/.test(node.type),
  }
  for (const [field, value] of Object.entries(node)) {
    if (SKIPPED_FIELDS.has(field) || (field === 'key' && !node.computed)) continue
    // The text of an error of the program is for developers: no caller gets it, and no test reads it.
    if (field === 'arguments' && node.type === 'NewExpression' && /Error$/.test(node.callee.name ?? '')) continue
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type === 'string') walk(child, inside, visit)
    }
  }
}

type Span = { start: number; end: number }
type NodeChange = [operator: Operator, target: Span, replacement: string]

function changesOf(node: Node, { parent, inWordList }: NodePlace, source: string): NodeChange[] {
  const textOf = ({ start, end }: Span) => source.slice(start, end)
  const phrases = inWordList ? phrasesOf(node, parent, source) : []
  if (phrases.length > 0) return phrases.map(({ span, replacement }) => ['phrase', span, replacement])
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
    case 'WhileStatement':
    case 'DoWhileStatement':
      return [['condition', node.test, `!(${textOf(node.test)})`]]
    case 'ForStatement':
      return node.test ? [['condition', node.test, `!(${textOf(node.test)})`]] : []
    case 'BinaryExpression':
      return binary(node, parent, textOf)
    case 'AssignmentExpression': {
      const operator = ASSIGNMENTS[node.operator]
      const change = (to: string): NodeChange => [
        node.operator.length === 2 ? 'arithmetic' : 'logical',
        node,
        `${textOf(node.left)} ${to} ${textOf(node.right)}`,
      ]
      return operator && !isText(node.right) ? [change(operator)] : []
    }
    case 'UpdateExpression': {
      const to = node.operator === '++' ? '--' : '++'
      const argument = textOf(node.argument)
      return [['arithmetic', node, node.prefix ? `${to}${argument}` : `${argument}${to}`]]
    }
    case 'LogicalExpression':
      return [
        ['logical', node, `(${textOf(node.left)})`],
        ['logical', node, `(${textOf(node.right)})`],
      ]
    case 'Literal':
      return literal(node, parent)
    case 'TemplateLiteral':
      return [['literal', node, '``']]
    case 'ExpressionStatement':
      return node.directive || UNREF.test(textOf(node)) || node.expression.callee?.type === 'Super'
        ? []
        : [['statement', node, ';']]
    case 'ThrowStatement':
    case 'BreakStatement':
    case 'ContinueStatement':
      return parent.type === 'SwitchCase' && node.type === 'BreakStatement' ? [] : [['statement', node, ';']]
    case 'ReturnStatement':
      return node.argument ? returned(node.argument, textOf) : []
    case 'ArrowFunctionExpression':
      return node.expression ? returned(node.body, textOf) : []
    default:
      return []
  }
}

const COMPARISONS: Record<string, string> = {
  '===': '!==',
  '!==': '===',
  '==': '!=',
  '!=': '==',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
}
const ARITHMETIC: Record<string, string> = { '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '**': '*' }
const ASSIGNMENTS: Record<string, string> = {
  '+=': '-=',
  '-=': '+=',
  '*=': '/=',
  '/=': '*=',
  '??=': '=',
  '||=': '=',
  '&&=': '=',
}

function binary(node: Node, parent: Node, textOf: (span: Span) => string): NodeChange[] {
  const to = COMPARISONS[node.operator] ?? (isText(node) ? undefined : ARITHMETIC[node.operator])
  // The negated condition is this mutant already.
  if (!to || (parent.test === node && /[!=]==?/.test(node.operator))) return []
  const operator = node.operator in COMPARISONS ? 'comparison' : 'arithmetic'
  return [[operator, node, `${textOf(node.left)} ${to} ${textOf(node.right)}`]]
}

/** Texts are joined by a plus, and have no minus. */
const isText = (node: Node): boolean =>
  typeof node.value === 'string' ||
  node.type === 'TemplateLiteral' ||
  (node.type === 'ParenthesizedExpression' && isText(node.expression)) ||
  (node.type === 'BinaryExpression' && node.operator === '+' && (isText(node.left) || isText(node.right)))

function literal(node: Node, parent: Node): NodeChange[] {
  if (node.regex) {
    const { pattern, flags } = node.regex
    return anchorsOf(pattern).map(([from, to]) => [
      'regex',
      node,
      `/${pattern.slice(0, from) + pattern.slice(to) || '(?:)'}/${flags}`,
    ])
  }
  if (typeof node.value === 'boolean') return [['literal', node, String(!node.value)]]
  if (typeof node.value !== 'string' || /^(?:Import|Export)/.test(parent.type)) return []
  return [['literal', node, node.value === '' ? "'mutant'" : "''"]]
}

/** Where a pattern has `^`, `$` or `\b`. */
function anchorsOf(pattern: string): [from: number, to: number][] {
  return [...pattern.matchAll(/\\b|\\.|\[(?:\\.|[^\]])*\]|[$^]/gs)]
    .filter(([token]) => token === '\\b' || token === '$' || token === '^')
    .map(({ 0: token, index }) => [index, index + token.length])
}

const BOOLEAN = /^(?:[!=]==?|[<>]=?|in|instanceof)$/

function returned(value: Node, textOf: (span: Span) => string): NodeChange[] {
  const inner = value.type === 'ParenthesizedExpression' ? value.expression : value
  if (inner.type === 'BlockStatement' || textOf(inner) === 'undefined') return []
  if (typeof inner.value === 'boolean') return []
  if (inner.type === 'UnaryExpression' && inner.operator === '!') return [['return', inner, textOf(inner.argument)]]
  // The comparison itself has a mutant.
  if (inner.type === 'BinaryExpression' && BOOLEAN.test(inner.operator)) return []
  return [['return', inner, 'undefined']]
}
