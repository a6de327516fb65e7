import { existsSync, globSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { expect, test } from 'vitest'
import { sendWalk } from './send-walk.ts'

// The map of the code in docs/code.md, and the list of guides.

const ROOTS = [
  'proto/',
  'gen/',
  'address-files/',
  'net/',
  'mail/',
  'server/',
  'cli/',
  'workflows/',
  'client/',
  'dashboard/',
  'dev/',
  'test/',
  'bench/',
  'fuzz/',
  'kills/',
  'deploy/',
  'patches/',
  'docs/',
]

test('the map of the code has one row for each folder, and no other', () => {
  const rows = [...readFileSync('docs/code.md', 'utf8').matchAll(/^\| `([a-z/-]+\/)` +\| \S/gm)].map(
    ([, folder]) => folder,
  )
  const inner = globSync(['{mail,dev}/*/*.ts', 'server/*/**/*.ts']).map(
    (file) => `${file.split('/').slice(0, 2).join('/')}/`,
  )
  expect(rows.toSorted()).toEqual([...new Set([...ROOTS, ...inner])].toSorted())
})

test('the walk of a send names files that exist, and their number', () => {
  const { files, number } = sendWalk()
  expect(files.filter((file) => !existsSync(file))).toEqual([])
  expect([new Set(files).size, files.length]).toEqual([number, number])
})

test('the list of guides names every guide', () => {
  const list = readFileSync('docs/README.md', 'utf8')
  const guides = globSync([
    'docs/*.md',
    'client/README.md',
    'client/python/README.md',
    'docs/{adr,migrating}/README.md',
  ]).filter((file) => file !== 'docs/README.md')
  expect(guides.filter((file) => !list.includes(`](${relative('docs', file)})`))).toEqual([])
})

test('the README is read in one sitting', () => {
  expect(readFileSync('README.md', 'utf8').split('\n').length).toBeLessThanOrEqual(160)
})
