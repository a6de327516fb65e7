import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fileOf } from '../../server/config/config.ts'
import { VARIABLES, type Variable, type Variables } from '../../server/config/variables.ts'

// docs/configuration.md against the code that reads the variables.

const GUIDE = readFileSync('docs/configuration.md', 'utf8')
const ROWS = [...GUIDE.matchAll(/^\| `([A-Z0-9_]+)` *\| (.*?) *\| (.*?) *\| `(.*)` *\|$/gm)].map(
  ([, name, byDefault, meaning, example]) => ({
    name: name!,
    byDefault: byDefault!,
    meaning: meaning!,
    example: example!,
  }),
)
const row = (name: string) => ROWS.find((one) => one.name === name)!

const SECRET_FILES = Object.values<Variable<unknown>>(VARIABLES)
  .filter(({ secret }) => secret)
  .map(fileOf)

/** Variables that code outside the table reads from the environment. */
function readElsewhere(): string[] {
  const files = ['server', 'workflows', 'dev'].flatMap((folder) =>
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
  expect(ROWS.map(({ name }) => name).toSorted()).toEqual([...expected].toSorted())
})

test('the guide names the file of every secret', () => {
  const [named] = /A secret may stand in a file.*?\n\n/s.exec(GUIDE)!
  expect(named.match(/[A-Z_]+_FILE/g)!.toSorted()).toEqual(SECRET_FILES.toSorted())
})

test.for(Object.entries(VARIABLES))('the guide describes %s as the code reads it', ([key, variable]) => {
  const { name, required, example } = variable
  const { byDefault, meaning, example: shown } = row(name)
  expect(meaning).toMatch(/^[A-Z`].*\.$/)
  expect(byDefault.startsWith('required')).toBe(required !== undefined)
  expect(byDefault.startsWith('required in production')).toBe(required === 'in production')
  // The guide shows a folder of the operator, which is clearer than the default.
  if (key !== 'dataDir') expect(shown).toBe(example)
  const known = { host: '127.0.0.1', sendBudgetMs: 30_000, production: false } as Variables
  const value = required ? undefined : variable.default?.(known)
  const isShown =
    typeof value === 'number' || (typeof value === 'string' && !['smtpHeloName', 'dataDir', 'bounceHost'].includes(key))
  if (isShown) expect(byDefault).toContain(`\`${value}\``)
  if (value === undefined || (Array.isArray(value) && value.length === 0)) expect(byDefault).not.toMatch(/^`/)
})
