import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { onlyStep, reachesBuild, readDockerfile, type Stage } from './dockerfile.ts'
import { COMMANDS, configOf, imageEnvironment } from './environment.ts'

const stages = readDockerfile()
const image = stages.at(-1)!

test('every stage begins with the Node that package.json names', () => {
  // A digest may follow: see deploy/pin-images.sh.
  expect(new Set(stages.map(({ image }) => image.split('@')[0]))).toEqual(
    new Set([`node:${packageJson.dependencies.node}-bookworm-slim`]),
  )
})

test('the image runs the API as a user without rights', () => {
  expect(onlyStep(image, 'CMD').command.join(' ')).toBe(COMMANDS.api)
  expect(onlyStep(image, 'USER').values).toEqual(['1000:1000'])
})

test('the image sets variables of the product, and exposes its ports', () => {
  const required = {
    DATABASE_URL_FILE: '/',
    ENCRYPTION_KEYS_FILE: '/',
    TEMPORAL_ADDRESS: 'a:1',
    PUBLIC_URL: 'https://a',
    DATA_REGION: 'eu',
  }
  const config = configOf({ ...imageEnvironment(), ...required })
  expect(config).toMatchObject({ production: true, host: '0.0.0.0', metricsHost: '0.0.0.0' })
  const ports = [config.port, config.metricsPort, config.workerMetricsPort].map(String)
  expect(onlyStep(image, 'EXPOSE').values).toEqual(ports)
  expect(onlyStep(image, 'HEALTHCHECK').command.join(' ')).toContain(`:${config.port}/healthz`)
})

test('everything that is copied exists and reaches the build', () => {
  const copies = stages.flatMap(({ steps }) => steps.filter((step) => step.does === 'COPY'))
  const names = stages.map(({ name }) => name)
  for (const { from, sources } of copies) {
    if (from !== undefined) expect(names).toContain(from)
    else
      for (const source of sources)
        expect([source, existsSync(source) && filesOf(source).every(reachesBuild)]).toEqual([source, true])
  }
})

/** What a stage copies from the repository. */
const copiedBy = ({ steps }: Stage) =>
  steps.flatMap((step) => (step.does === 'COPY' && step.from === undefined ? step.sources : []))

const isCopied = (path: string, sources: string[]) =>
  sources.some((source) => path === source || path.startsWith(`${source}/`))

const importsOf = (file: string) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import\() ?'(\.[^']*)'/g)].map(([, path]) =>
    normalize(join(dirname(file), path!)),
  )

test('everything that a file of the image imports is in the image', () => {
  const inImage = copiedBy(image)
  const files = inImage.flatMap((source) => (source.endsWith('.ts') ? [source] : globSync(`${source}/**/*.ts`)))
  const missing = files.flatMap((file) =>
    importsOf(file)
      .filter((path) => !isCopied(path, inImage))
      .map((path) => `${file} imports ${path}`),
  )
  expect(missing).toEqual([])
})

test('everything that `npm run build` imports is where it runs', () => {
  const copied = stages.filter(({ name }) => name === 'pages').flatMap(copiedBy)
  const files = new Set(packageJson.scripts.build.match(/dev\/\S+/g))
  for (const file of files) {
    expect([file, isCopied(file, copied)]).toEqual([file, true])
    for (const imported of file.endsWith('.ts') ? importsOf(file) : []) files.add(imported)
  }
  expect(files.size).toBeGreaterThan(100)
})

/** Not of this machine: the stage `pages` builds it. */
const BUILT = 'docs/openapi.json'

const filesOf = (source: string) =>
  source.includes('.') ? [source] : globSync(`${source}/*.*`).filter((file) => file !== BUILT)

test('no secret, history or development file reaches the build', () => {
  const kept = [
    '.env',
    'secrets/database-url',
    '.git/config',
    'node_modules/node/bin/node',
    '.verdict/keys.json',
    'test/process/log.test.ts',
    'dashboard/dist/index.html',
    BUILT,
  ]
  expect(kept.filter(reachesBuild)).toEqual([])
})
