import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { GUIDES, GUIDES_WITH_PACKAGES, README } from './guides.ts'
import { CODE, isMarked, snippets, steps } from './snippets.ts'

const DOCUMENTS = globSync(['*.md', 'client/{*,python/*}.md', 'docs/*.md', 'docs/{languages,migrating}/*.md']).map(
  (name) => ({
    name,
    all: snippets(readFileSync(name, 'utf8')),
  }),
)

test.for(DOCUMENTS)('every piece of code in $name runs, or says why it does not', ({ all }) => {
  const code = all.filter(({ language }) => CODE.includes(language))
  expect(code.filter((snippet) => !isMarked(snippet)).map(({ line, mark }) => `line ${line}: "${mark}"`)).toEqual([])
})

test.for(DOCUMENTS)('every JSON text in $name is valid', ({ all }) => {
  for (const { language, text } of all) if (language === 'json') expect(() => JSON.parse(text)).not.toThrow()
})

test('code for another service stands only in the guides to migrating', () => {
  const others = DOCUMENTS.filter(({ all }) => all.some(({ mark }) => mark === 'not-run=another-service'))
  expect(others.map(({ name }) => name).filter((name) => !name.startsWith('docs/migrating/'))).toEqual([])
})

test('every guide with commands is run, once', () => {
  const withCommands = DOCUMENTS.filter(({ name }) => steps(readFileSync(name, 'utf8')).length > 0)
  expect(withCommands.map(({ name }) => name).toSorted()).toEqual(
    [...README, ...GUIDES, ...GUIDES_WITH_PACKAGES].toSorted(),
  )
})

test('code without a mark, or with an unknown reason, is found', () => {
  const marked = (fence: string) => isMarked(snippets(`\`\`\`${fence}\nx\n\`\`\`\n`)[0]!)
  expect(['sh run', 'js file=a.mjs', 'js verify', 'sh not-run=your-machine'].map(marked)).toEqual(Array(4).fill(true))
  expect(['sh', 'js run', 'js file=', 'js example', 'sh not-run', 'sh not-run=lazy'].map(marked)).toEqual(
    Array(6).fill(false),
  )
})
