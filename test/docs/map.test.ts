import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

// The map of folders in the README.

const ROOTS = [
  'proto/',
  'gen/',
  'server/',
  'workflows/',
  'client/',
  'dashboard/',
  'dev/',
  'test/',
  'bench/',
  'deploy/',
  'patches/',
  'docs/',
]

test('the map in the README has one row for each folder, and no other', () => {
  const rows = [...readFileSync('README.md', 'utf8').matchAll(/^\| `([a-z/]+\/)` +\| \S/gm)].map(([, folder]) => folder)
  const inner = globSync(['server/*/*.ts', 'dev/*/*.ts']).map((file) => `${file.split('/').slice(0, 2).join('/')}/`)
  expect(rows.toSorted()).toEqual([...new Set([...ROOTS, ...inner])].toSorted())
})
