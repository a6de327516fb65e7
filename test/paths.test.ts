import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'

// A pattern that matches nothing fails nowhere: what it should find is no longer tested, checked or copied. So every
// path and every pattern leads to a file of the repository, wherever it is written: in a configuration, a script, a
// guide, a comment or the table of a test.

/** The files of the repository, with those that are not committed yet. */
const FILES = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .trimEnd()
  .split('\n')
  .filter((file) => existsSync(file))

/** Files whose paths are generated, copied, examples, or of another time: released entries do not change. */
const NOT_READ =
  /^(?:client\/)?gen\/|^server\/db\/migrations\/|^docs\/openapi|package-lock\.json$|^test\/paths\.test\.ts$|^CHANGELOG\.md$|\.(?:png|ico|woff2)$/

/** What looks like a path of the repository and is none. */
const NO_PATHS: Record<string, string[]> = {
  'a package of Go or of Ruby': ['net/http', 'net/mail', 'net/smtp', 'net/textproto', 'net/url'],
  'a file of the conformance suite of Connect': ['docs/testing_servers.md'],
  'an address of Temporal': ['workflows/*/history', 'workflows/*/query/__temporal_workflow_metadata'],
  'a Deployment of Kubernetes': ['deploy/verdict-api'],
  'a unit': ['workflows/s'],
}

/** `a`, `a/b` and `a/b/c.ts` of `a/b/c.ts`. */
const PATHS = new Set(FILES.flatMap((file) => file.split('/').map((_, i, parts) => parts.slice(0, i + 1).join('/'))))
/** `c.ts`, `b/c.ts` and `a/b/c.ts` of `a/b/c.ts`. */
const NAMES = new Set(FILES.flatMap((file) => file.split('/').map((_, i, parts) => parts.slice(i).join('/'))))
const FOLDERS_OF_THE_ROOT = new Set(FILES.filter((file) => file.includes('/')).map((file) => file.split('/')[0]!))

/** A list in braces, which may have lists in it. */
const BRACES = [1, 2].reduce((inner) => `\\{(?:[^{}\\s'"]|${inner})*\\}`, '\\{[^{}\\s\'"]*\\}')
/** A word that may be a path or a pattern. */
const WORD = new RegExp(`(?<![\\w./@:~*?-])(?:[\\w./*@+-]|${BRACES}|[!?+@*]\\([\\w|.-]*\\)|\\[[\\w^-]+\\])+`, 'g')
/** The name of a TypeScript file, with or without folders. */
const TYPESCRIPT = /^\w[\w./-]*\.tsx?$/

interface Variant {
  path: string
  /** What was chosen in each pair of braces. */
  choices: string[]
}

/** Every pattern without braces that a pattern with braces includes. */
function variantsOf(path: string, choices: string[] = []): Variant[] {
  const [braces, list] = path.match(/\{([^{}]*)\}/) ?? []
  if (braces === undefined) return [{ path, choices: choices.length > 0 ? choices : [path] }]
  return list!.split(',').flatMap((item) =>
    variantsOf(
      path.replace(braces, () => item),
      [...choices, `"${item}" of ${braces}`],
    ),
  )
}

const startsAtRoot = (path: string) => path.includes('/') && FOLDERS_OF_THE_ROOT.has(path.split('/')[0]!)

/** The patterns in a text that begin at the root, and the names of TypeScript files. */
function patternsIn(text: string): string[] {
  const constants = new Map([...text.matchAll(/const (\w+) = '([\w./-]+)'/g)].map(([, name, value]) => [name, value!]))
  const words = text.replace(/\$\{([^}]*)\}/g, (_, value) => constants.get(value) ?? '*').match(WORD) ?? []
  // Most words are none, and variants take time.
  return [...new Set(words)]
    .filter((word) => /\/|\.tsx?\b/.test(word))
    .map((word) => word.replace(/^\.\//, '').replace(/[./-]+$/, ''))
    .filter((word) => TYPESCRIPT.test(word) || variantsOf(word).some(({ path }) => startsAtRoot(path)))
}

/** Keys of JSON and YAML whose values are patterns, relative to the folder of the file. */
const KEYS = ['include', 'includes', 'exclude', 'files', 'ignore', 'resources', 'components']

/** The patterns of a configuration, which may begin anywhere. */
function entriesOf(file: string, text: string): string[] {
  if (/\.(?:json|ya?ml)$/.test(file)) {
    const documents = parseAllDocuments(text).map((document) => document.toJS({ mapAsMap: true }))
    return valuesOf(documents).map((entry) => join(dirname(file), entry.replace(/^!/, '')))
  }
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  if (file === '.dockerignore') return lines.map((line) => line.replace(/^!/, ''))
  // What a command builds need not be there, but the folder that it is built into is.
  if (file === '.gitignore') return lines.map((line) => dirname(line))
  return []
}

/** The texts at any depth of a value that belong to one of the keys. */
function valuesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(valuesOf)
  if (!(value instanceof Map)) return []
  return [...value].flatMap(([key, inner]) => {
    const texts = KEYS.includes(key) ? [inner].flat().filter((text) => typeof text === 'string') : []
    return texts.length > 0 ? texts : valuesOf(inner)
  })
}

const matches = new Map<string, boolean>()

/** Whether a file or a folder of the repository has this path, or matches this pattern. */
function leadsToFile(path: string): boolean {
  if (!/\w/.test(path)) return true
  if (!/[*?!([]/.test(path)) return PATHS.has(path)
  if (!matches.has(path))
    matches.set(
      path,
      globSync(path, { exclude: ['node_modules'] }).some((found) => PATHS.has(found)),
    )
  return matches.get(path)!
}

/** The places that a path in a file may mean: from the root, or from a folder that the file is in. */
function placesOf(path: string, file: string): string[] {
  return file.split('/').map((_, i, parts) => join(parts.slice(0, i).join('/'), path))
}

/** Paths of a text that lead to no file, and choices in braces that no file matches. */
function missingPaths(file: string, text: string): string[] {
  const isAlive = (path: string) =>
    placesOf(path, file).some(leadsToFile) || (TYPESCRIPT.test(path) && !startsAtRoot(path) && NAMES.has(path))
  return [...new Set([...patternsIn(text), ...entriesOf(file, text)])]
    .filter((pattern) => !Object.values(NO_PATHS).flat().includes(pattern))
    .flatMap((pattern) => {
      const variants = variantsOf(pattern)
      const found = variants.filter(({ path }) => isAlive(path)).flatMap(({ choices }) => choices)
      return [...new Set(variants.flatMap(({ choices }) => choices))].filter((choice) => !found.includes(choice))
    })
}

/** The missing paths of texts without those of built files, which .gitignore names. */
function deadPaths(texts: (readonly [file: string, text: string])[]): { file: string; path: string }[] {
  const missing = texts.flatMap(([file, text]) => missingPaths(file, text).map((path) => ({ file, path })))
  const inputs = missing.map(({ file, path }) => placesOf(path, file).flatMap((place) => [place, `${place}/`]))
  const git = ['check-ignore', '--no-index', '-z', '--stdin']
  const ignored = new Set(
    spawnSync('git', git, { input: inputs.flat().join('\0') })
      .stdout.toString()
      .split('\0'),
  )
  return missing.filter((_, i) => !inputs[i]!.some((input) => ignored.has(input)))
}

test('every path and every pattern leads to a file', () => {
  const texts = FILES.filter((file) => !NOT_READ.test(file)).map((file) => [file, readFileSync(file, 'utf8')] as const)
  expect(deadPaths(texts)).toEqual([])
  const others = Object.values(NO_PATHS).flat()
  expect(others.filter((path) => !texts.some(([, text]) => text.includes(path.split('*')[0]!)))).toEqual([])
})

test.each([
  [
    'vitest.config.ts',
    "include: ['test/{db,diary}/**/*.test.ts', 'test/**/*.slow.test.ts']",
    ['"diary" of {db,diary}', 'test/**/*.slow.test.ts'],
  ],
  ['test/harness/longest-first.ts', "'test/real/diary.test.ts',", ['test/real/diary.test.ts']],
  [
    'test/deploy/units.ts',
    "const FOLDER = 'deploy/diary'\nglobSync(`$" + '{FOLDER}/*.conf`)',
    ['deploy/diary', 'deploy/diary/*.conf'],
  ],
  ['test/imports.test.ts', "'server/diary': ['server/db']", ['server/diary']],
  ['tsconfig.json', '{ "include": ["server", "diary"], "exclude": ["test/diary"] }', ['test/diary', 'diary']],
  ['client/tsconfig.json', '{ "include": ["*.ts", "diary/*.ts"] }', ['client/diary/*.ts']],
  ['biome.json', '{ "files": { "includes": ["**", "!diary", "!**/*.diary"] } }', ['diary', '**/*.diary']],
  ['buf.yaml', 'lint:\n  ignore: [proto/diary]\nbreaking:\n  ignore: [diary]', ['proto/diary', 'diary']],
  [
    'deploy/kubernetes/base/kustomization.yaml',
    'resources: [api.yaml, diary.yaml]',
    ['deploy/kubernetes/base/diary.yaml'],
  ],
  ['package.json', '{ "scripts": { "diary": "node dev/diary.ts" } }', ['dev/diary.ts']],
  ['.dockerignore', '*\n!diary\n!net', ['diary']],
  ['.gitignore', '# Built.\n*.log\nclient/dist/\ndiary/dist/', ['diary']],
  ['Dockerfile', 'COPY dev/diary dev/build-guides.ts dev/', ['dev/diary']],
  ['.ci/run', 'step diary node dev/diary.ts', ['dev/diary.ts']],
  ['CONTRIBUTING.md', 'See `test/diary` and `server/diary/*.ts`.', ['test/diary', 'server/diary/*.ts']],
  ['server/db/ids.ts', '// See diary/keys.ts, db/ids.ts and diary.ts.', ['diary/keys.ts', 'diary.ts']],
])('a dead path in %s is found', (file, text, dead) => {
  expect(deadPaths([[file, text]]).map(({ path }) => path)).toEqual(dead)
})

interface Project {
  include: string[]
  exclude?: string[]
}

test('every project of Vitest has tests, and every test is in a project', async () => {
  const configs = await Promise.all(globSync('vitest*.config.ts').map((file) => import(join(process.cwd(), file))))
  const projects: Project[] = configs
    .map((config) => config.default.test)
    .flatMap(({ projects, ...only }) => projects?.map(({ test }: { test: Project }) => test) ?? [only])
  const found = projects.map(({ include, exclude }) => globSync(include, { exclude: exclude ?? [] }))
  expect(found.map(({ length }) => length)).not.toContain(0)
  const tests = FILES.filter((file) => /\.test\.tsx?$/.test(file))
  expect(tests.filter((file) => !found.flat().includes(file))).toEqual([])
})
