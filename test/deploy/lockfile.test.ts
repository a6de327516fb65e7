import { expect, test } from 'vitest'
import { read } from './environment.ts'

// `npm ci` verifies a package against its hash in the lockfile, and fetches it from where the lockfile says.

interface Locked {
  link?: boolean
  integrity?: string
  resolved?: string
}

const REGISTRY = 'https://registry.npmjs.org/'
const packages = Object.entries<Locked>(JSON.parse(read('package-lock.json')).packages).filter(
  ([path, { link }]) => path !== '' && !link,
)

test('every package of the lockfile, for whatever platform, has a SHA-512 hash', () => {
  const without = packages.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))
  expect(without.map(([path]) => path)).toEqual([])
  expect(packages.length).toBeGreaterThan(500)
})

test('a package comes from the public registry or from the one that npm is set up for, and from nowhere else', () => {
  const elsewhere = packages.filter(([, { resolved }]) => resolved !== undefined && !resolved.startsWith(REGISTRY))
  expect(elsewhere.map(([path]) => path)).toEqual([])
})
