import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { openFolder } from './daemon.ts'
import { type Account, createSender, type Product, SENDER_DOMAIN, startProduct } from './product.ts'

// Clients are generated from the OpenAPI document as a user does it, without special options for this document.

const GENERATOR = 'org.openapitools:openapi-generator-cli:7.25.0'
const TYPESCRIPT = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3', '@types/node@26.6.6']
const PROGRAMS = resolve('test/real/clients')
const DOWNLOAD_AND_COMPILE_MS = 600_000

let folder: string
let account: Account
let product: Product
let document: string

beforeAll(async () => {
  folder = await openFolder('clients')
  account = await createSender()
  // Mail to the simulator needs no DNS.
  product = await startProduct(account, { DNS_SERVERS: '127.0.0.1:1' })
  document = join(folder, 'openapi.json')
  await writeFile(document, await (await fetch(`${product.api.url}/api/v1/openapi.json`)).text())
  const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
  await run(folder, 'mvn', '--quiet', '--batch-mode', copy, `-Dartifact=${GENERATOR}`, `-DoutputDirectory=${folder}`)
}, DOWNLOAD_AND_COMPILE_MS)

afterAll(async () => {
  await product?.api.kill()
  await account?.database.drop()
  await rm(folder, { recursive: true, force: true })
})

/** Runs a program that must succeed, and returns its standard output. */
async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  const { url } = product.api
  const env = { VERDICT_URL: url, VERDICT_API_KEY: account.key, FROM: `hello@${SENDER_DOMAIN}`, GOFLAGS: '-mod=mod' }
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', all: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output.stdout += text
    output.all += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output.all += text
  })
  const [status] = await once(child, 'close')
  expect(status, `${command} ${args.join(' ')}\n${output.all.slice(-4_000)}`).toBe(0)
  return output.stdout
}

/** Generates a client in a language and returns its folder. */
async function generate(language: string, ...options: string[]): Promise<string> {
  const jar = join(folder, `${GENERATOR.split(':').slice(1).join('-')}.jar`)
  const client = join(folder, language)
  await run(folder, 'java', '-jar', jar, 'generate', '-g', language, '-i', document, '-o', client, ...options)
  return client
}

const EXPECTED = {
  sent: 'delivered',
  code: 250,
  batch: 'mailbox_full',
  subject: 'Hello',
  events: 1,
  imported: 1,
  error: 'not_found',
}

const RUN: Record<string, () => Promise<string>> = {
  async Go() {
    const client = await generate('go', '--package-name', 'verdict', '--git-host', 'verdict.example')
    const module = /^module (.*)$/m.exec(await readFile(join(client, 'go.mod'), 'utf8'))![1]!
    const main = await readFile(join(PROGRAMS, 'main.go'), 'utf8')
    const program = join(client, 'program')
    await cp(join(PROGRAMS, 'main.go'), join(program, 'main.go'), { recursive: true })
    await writeFile(join(program, 'main.go'), main.replace('verdict.example/client', module))
    // The generated tests need more packages than the client.
    await rm(join(client, 'test'), { recursive: true, force: true })
    const installOptions = {
      report: () => {},
      signal: AbortSignal.timeout(300_000),
      cacheDir: cacheFolder(process.env),
    }
    const go = await goToolchain(installOptions)
    const env = Object.entries(go.env).map(([name, value]) => `${name}=${value}`)
    await run(client, 'env', ...env, go.program, 'build', './...')
    return run(client, 'env', ...env, go.program, 'run', './program')
  },
  async Java() {
    const client = await generate('java')
    const goals = ['compile', 'dependency:copy-dependencies', '-DincludeScope=runtime']
    await run(client, 'mvn', '--quiet', '--batch-mode', ...goals)
    return run(client, 'java', '-cp', 'target/classes:target/dependency/*', join(PROGRAMS, 'Main.java'))
  },
  async Python() {
    const client = await generate('python')
    const environment = join(folder, 'environment')
    await run(folder, '/usr/bin/python3', '-m', 'venv', environment)
    await run(folder, join(environment, 'bin/pip'), 'install', '--quiet', client)
    return run(folder, join(environment, 'bin/python'), join(PROGRAMS, 'main.py'))
  },
  async TypeScript() {
    const client = join(folder, 'typescript')
    await cp(join(PROGRAMS, 'main.ts'), join(client, 'main.ts'), { recursive: true })
    await writeFile(join(client, 'package.json'), '{"type":"module"}')
    await run(client, 'npm', 'install', '--no-audit', '--no-fund', ...TYPESCRIPT)
    const bin = (name: string) => join(client, 'node_modules/.bin', name)
    await run(client, bin('openapi-typescript'), document, '--output', 'verdict.ts')
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--allowImportingTsExtensions',
    ]
    await run(client, bin('tsc'), ...options, '--skipLibCheck', '--types', 'node', 'main.ts')
    return run(client, process.execPath, 'main.ts')
  },
}

test.for(Object.keys(RUN))(
  'a generated %s client compiles, sends an email and reads it back',
  { timeout: DOWNLOAD_AND_COMPILE_MS },
  async (language) => {
    expect(JSON.parse(await RUN[language]!())).toEqual(EXPECTED)
  },
)
