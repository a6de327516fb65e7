import { expect, test } from 'vitest'
import { mutantsOf, mutate } from '../../../dev/mutation/mutants.ts'

const changes = (source: string, isWordList = false) =>
  mutantsOf('sample.ts', source, isWordList).map((mutant) => mutate(source, mutant))

test('conditions are negated, and comparisons move by one', () => {
  expect(changes('if (a < b) f()')).toEqual(['if (!(a < b)) f()', 'if (a <= b) f()', 'if (a < b) ;'])
  expect(changes('const c = a === b ? 1 : 2')).toEqual(['const c = !(a === b) ? 1 : 2'])
})

test('arithmetic is reversed, but texts are joined', () => {
  expect(changes('const c = a + b * 2')).toEqual(['const c = a - b * 2', 'const c = a + b / 2'])
  expect(changes("const c = a + 'b'")).toEqual(["const c = a + ''"])
  expect(changes('let c = a++')).toEqual(['let c = a--'])
})

test('either side of a logical operator is enough', () => {
  expect(changes('const c = a ?? b')).toEqual(['const c = (a)', 'const c = (b)'])
  expect(changes('const c = a && b')).toEqual(['const c = (a)', 'const c = (b)'])
})

test('literals are replaced, and anchors of patterns are removed', () => {
  expect(changes('const c = true')).toEqual(['const c = false'])
  expect(changes("const c = ''")).toEqual(["const c = 'mutant'"])
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the source has a template.
  expect(changes('const c = `a ${b}`')).toEqual(['const c = ``'])
  expect(changes(String.raw`const c = /^[$^]\$a\b|^$/i`)).toEqual([
    String.raw`const c = /[$^]\$a\b|^$/i`,
    String.raw`const c = /^[$^]\$a|^$/i`,
    String.raw`const c = /^[$^]\$a\b|$/i`,
    String.raw`const c = /^[$^]\$a\b|^/i`,
  ])
})

test('statements are removed, and results are replaced', () => {
  expect(changes('function f() { g(); return h() }')).toEqual([
    'function f() { ; return h() }',
    'function f() { g(); return undefined }',
  ])
  expect(changes('const f = (a: string) => a.length')).toEqual(['const f = (a: string) => undefined'])
  expect(changes('const f = () => !g()')).toEqual(['const f = () => g()'])
})

test('types, names of modules, texts of errors and unref() are no behaviour', () => {
  expect(changes("import { a } from 'a'\nexport { b } from 'b'")).toEqual([])
  expect(changes("type A = 'a' | 'b'\nlet a: 'a'")).toEqual([])
  expect(changes("throw new Error('impossible')")).toEqual([';'])
  expect(changes('timer.unref()')).toEqual([])
})

test('in a word list each phrase and each alternative is replaced by a word that no reply has', () => {
  expect(changes("const c = words('full, no such user')", true)).toEqual([
    "const c = words('xqzqx, no such user')",
    "const c = words('full, xqzqx')",
  ])
  expect(changes('const c = /over quota|user (?:unknown|gone)s?/i', true)).toEqual([
    'const c = /xqzqx|user (?:unknown|gone)s?/i',
    'const c = /over quota|xqzqx/i',
    'const c = /over quota|user (?:xqzqx|gone)s?/i',
    'const c = /over quota|user (?:unknown|xqzqx)s?/i',
  ])
  // A pattern without alternatives is code, and so is a string outside of `words()`.
  expect(changes("const c = { status: /^5/, name: 'full' }", true)).toEqual([
    "const c = { status: /5/, name: 'full' }",
    "const c = { status: /^5/, name: '' }",
  ])
})
