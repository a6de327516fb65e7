import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fileOf } from '../../server/config/config.ts'
import { VARIABLES, type Variable } from '../../server/config/variables.ts'

// docs/configuration.md, which dev/configuration prints, against the code that reads variables.

const GUIDE = readFileSync('docs/configuration.md', 'utf8')
const NAMES = [...GUIDE.matchAll(/^\| `([A-Z0-9_]+)` \|/gm)].map(([, name]) => name!)

const SECRET_FILES = Object.values<Variable<unknown>>(VARIABLES)
  .filter(({ secret }) => secret)
  .map(fileOf)

/** Variables that code outside the table reads from the environment. */
function readElsewhere(): string[] {
  const files = ['net', 'mail', 'server', 'cli', 'workflows', 'dev'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|mjs)$/.test(name))
      .map((name) => readFileSync(`${folder}/${name}`, 'utf8')),
  )
  return files.flatMap((code) => [
    ...[...code.matchAll(/process\.env\.([A-Z][A-Z0-9_]+)/g)].map(([, name]) => name!),
    ...[...code.matchAll(/\{ ([A-Z][A-Z0-9_]+)(?: = [^}]*)? \}(?:: NodeJS\.ProcessEnv| = process\.env)/g)].map(
      ([, name]) => name!,
    ),
  ])
}

test('every variable that the code reads is in the guide once, and the guide names no other', () => {
  const read = [...Object.values(VARIABLES).map(({ name }) => name), ...readElsewhere()]
  expect(read).toEqual(expect.arrayContaining(['VERDICT_URL', 'XDG_CACHE_HOME', 'WEBHOOK_ALLOW_SUBNETS']))
  const expected = new Set(read.filter((name) => !SECRET_FILES.includes(name)))
  expect(NAMES.toSorted()).toEqual([...expected].toSorted())
})
