import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { read, VERSION } from './environment.ts'

// package.json has the version of a release. Every other place that names it is here.

/** What names the version in a file: its first group. */
const NAMES: [files: string, name: RegExp][] = [
  ['package-lock.json', /"name": "@verdict\/server",\s+"version": "(.+)"/g],
  ['client/package.json', /^ {2}"version": "(.+)",$/gm],
  ['client/README.md', /verdict-client-(.+?)\.tgz/g],
  ['client/python/pyproject.toml', /^version = "(.+)"$/gm],
  ['client/python/README.md', /verdict_client-(.+?)-py3/g],
  // The first heading.
  ['CHANGELOG.md', /(?<!^## [\s\S]*)^## (\S+)/gm],
  ['{compose,deploy/compose/three-machines}.yaml', /image: verdict(?:-database)?:(\S+)/g],
  ['deploy/kubernetes/base/{api,migrate,worker}.yaml', /image: \S+\/verdict:(\S+)/g],
  ['docs/installing.md', /verdict[:-](\d[^\s/]*)/g],
  ['docs/openapi.json', /"info":{[^}]*"version":"(.+?)"/g],
]

const PLACES = NAMES.flatMap(([files, name]) => globSync(files).map((file) => [file, name] as const))

test.each(PLACES)('%s names the version of package.json', (file, name) => {
  const named = [...read(file).matchAll(name)].map(([, version]) => version)
  expect(new Set(named)).toEqual(new Set([VERSION]))
})
