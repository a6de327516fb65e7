import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installClient, PRINTED, PROGRAM, run } from '../client/package.ts'
import { type Account, createSender, type Product, startProduct } from './product.ts'

// The client on the runtimes that it names, installed from npm, in a project with a widespread TypeScript.

const RUNTIMES = ['node@20.20.2', 'bun@1.4.5', 'deno@2.9.6']
const PACKAGES = [...RUNTIMES, 'typescript@5.9.3', '@types/node@20.19.0']
const DOWNLOAD_MS = 300_000

let account: Account
let product: Product
let folder: string
let env: NodeJS.ProcessEnv
beforeAll(async () => {
  account = await createSender('example.test')
  // Mail to the simulator needs no DNS.
  product = await startProduct(account, { DNS_SERVERS: '127.0.0.1:1' })
  folder = await installClient(PACKAGES)
  env = { HOME: process.env.HOME, PATH: process.env.PATH, VERDICT_URL: product.api.url, VERDICT_API_KEY: account.key }
  await writeFile(join(folder, 'program.ts'), PROGRAM)
}, DOWNLOAD_MS)
afterAll(async () => {
  if (folder) await rm(folder, { recursive: true, force: true })
})

const inProject = (program: string, ...args: string[]) =>
  run(join(folder, 'node_modules/.bin', program), args, { cwd: folder, env })

test("the guide's program compiles against the package's own types, and runs on Node 20", async () => {
  const options = '--strict --module nodenext --target es2022 --types node --skipLibCheck false'.split(' ')
  const { stdout } = await inProject('tsc', ...options, 'program.ts').catch((error) => error)
  expect(stdout).toBe('')
  expect((await inProject('node', '--version')).stdout).toMatch(/^v20\./)
  expect((await inProject('node', 'program.js')).stdout).toBe(PRINTED)
})

test.for([
  ['Bun', 'bun', 'program.ts'],
  ['Deno', 'deno', 'run', '--allow-all', '--node-modules-dir=manual', 'program.ts'],
] as const)("the guide's program runs on %s", async ([, program, ...args]) => {
  expect((await inProject(program, ...args)).stdout).toBe(PRINTED)
})
