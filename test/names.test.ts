import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

// A name means one thing: a reader who has seen it once knows it in every room, and a search finds its one place.

const DECLARATION =
  /^(export )?(?:declare )?(?:async )?(?:abstract )?(function\*?|const enum|const|let|class|interface|type|enum) (\w+)/gm

/** Print code of other languages, whose lines look like declarations. */
const PRINTERS = ['dev/openapi/typescript.ts', 'dev/python/contract.ts']

/** The files that declare each name at their top level. */
function declared(rooms: string, isMeant: (isExported: boolean, kind: string, name: string) => boolean) {
  const files = new Map<string, Set<string>>()
  for (const file of globSync(`${rooms}/**/*.{ts,tsx}`, { exclude: PRINTERS })) {
    for (const [, exported, kind = '', name = ''] of readFileSync(file, 'utf8').matchAll(DECLARATION)) {
      if (isMeant(exported !== undefined, kind, name)) files.set(name, (files.get(name) ?? new Set()).add(file))
    }
  }
  return files
}

const shown = (names: [name: string, files: Iterable<string>][]) =>
  names.map(([name, files]) => `${name}: ${[...files].join(', ')}`)

const ALL = '{server,mail,net,workflows,cli,dashboard,dev}'
const EXPORTED = declared(ALL, (isExported) => isExported)
const isOwn = (isExported: boolean, kind: string) => !isExported && kind !== 'const' && kind !== 'let'

test('no two files export the same name', () => {
  expect(shown([...EXPORTED].filter(([, { size }]) => size > 1))).toEqual([])
})

test('a type or component that is not exported has no name that another file exports', () => {
  const own = declared(
    '{cli,dashboard,dev,server/{access,http,notices}}',
    (isExported, kind, name) => isOwn(isExported, kind) && /^[A-Z]/.test(name),
  )
  expect(shown([...own].filter(([name]) => EXPORTED.has(name)))).toEqual([])
})

/** Names that more files than three declare still, and how many. */
const OFTEN: Record<string, number> = {
  Parts: 4,
  Row: 7,
  answerOf: 4,
  begin: 4,
  faultOf: 7,
  fieldsOf: 5,
  groupOf: 4,
  outcomeOf: 4,
  start: 4,
  textOf: 4,
}

test('a type or function that is not exported shares its name with at most two files', () => {
  const own = [...declared(ALL, isOwn)]
  expect(shown(own.filter(([name, { size }]) => size > (OFTEN[name] ?? 3)))).toEqual([])
})
