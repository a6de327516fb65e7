import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../server/config/config.ts'
import { REMOVED, VARIABLES } from '../../server/config/variables.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { unpackPreviousFiles } from '../releases.ts'

const LEAST = { DATABASE_URL: 'postgres://db/verdict', ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}` }
const NAMES = Object.values(VARIABLES).map(({ name }) => name)

function namesOfTheLastRelease(): string[] {
  const folder = temporaryFolder()
  unpackPreviousFiles(folder, ['server/config/variables.ts'])
  const source = readFileSync(join(folder, 'server/config/variables.ts'), 'utf8')
  return [...source.matchAll(/\bname: '([A-Z0-9_]+)'/g)].map(([, name]) => name!)
}

test('every variable of the last release is read, or a fault that names what does its work', () => {
  const names = namesOfTheLastRelease()
  expect(names.length).toBeGreaterThan(50)
  expect(names.filter((name) => !NAMES.includes(name) && REMOVED[name] === undefined)).toEqual([])
})

test.each(Object.entries(REMOVED))('%s is a fault at start, unless it is empty', (name, instead) => {
  expect(NAMES).not.toContain(name)
  expect(readConfig({ ...LEAST, [name]: '1' })).toEqual({
    faults: [{ name, why: `was removed: ${instead}`, example: `unset ${name}` }],
  })
  expect(readConfig({ ...LEAST, [name]: '' })).toHaveProperty('config')
})
