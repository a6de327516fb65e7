import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { PREVIOUS_RELEASE, unpackPreviousFiles } from '../releases.ts'
import { openFolder } from './daemon.ts'
import { GENERATORS, PROGRAMS } from './generators.ts'
import { type Account, createSender, type Product, SENDER_DOMAIN, startProduct } from './product.ts'
import { startTomorrow } from './tomorrow.ts'

const DOWNLOAD_AND_COMPILE_MS = 600_000

let folder: string
let account: Account
let product: Product
let document: string
let tomorrow: Awaited<ReturnType<typeof startTomorrow>>

beforeAll(async () => {
  folder = await openFolder('clients')
  account = await createSender()
  // Mail to the simulator needs no DNS.
  product = await startProduct(account, { DNS_SERVERS: '127.0.0.1:1' })
  document = join(folder, 'openapi.json')
  tomorrow = untilEnd(await startTomorrow(product.api.url))
  await writeFile(document, await (await fetch(`${product.api.url}/api/v1/openapi.json`)).text())
})

/** Runs programs whose service is at the URL. */
const runAgainst =
  (url: string) =>
  async (cwd: string, command: string, ...args: string[]) => {
    const env = { VERDICT_URL: url, VERDICT_API_KEY: account.key, FROM: `hello@${SENDER_DOMAIN}` }
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

const EXPECTED = {
  sent: 'delivered',
  code: 250,
  batch: 'mailbox_full',
  subject: 'Hello',
  events: 1,
  imported: 1,
  error: 'not_found',
}

/** What the programs in Python and TypeScript import. */
const IMPORTED = ['python@example.com', 'typescript@example.com']

test.for(Object.entries(GENERATORS))(
  'a client made by %s compiles, sends an email and reads it back, also from a service of tomorrow',
  { timeout: DOWNLOAD_AND_COMPILE_MS },
  async ([, generate]) => {
    const { url } = tomorrow
    const output = await generate({ folder, programs: PROGRAMS, document, url, run: runAgainst(url) })
    expect(JSON.parse(output)).toEqual(EXPECTED)
  },
)

// What openapi-generator made of the document of 0.2 for Go and Java refuses members that the document lacks.
test.for(['openapi-generator Python', 'openapi-typescript'])(
  'a client made by %s of the last release, with a program of that time, works as it did',
  { timeout: DOWNLOAD_AND_COMPILE_MS },
  async (name) => {
    const release = join(folder, PREVIOUS_RELEASE.tag)
    await mkdir(release, { recursive: true })
    unpackPreviousFiles(release, ['test/real/clients'])
    const programs = join(release, 'test/real/clients')
    const { info, ...released } = JSON.parse(await readFile('test/contract/released-openapi.json', 'utf8'))
    // Today's openapi-generator refuses a licence without an identifier.
    const document = join(release, 'openapi.json')
    await writeFile(document, JSON.stringify({ ...released, info: { ...info, license: undefined } }))
    const { url } = product.api
    // Today's program has imported the same address.
    const method = 'DELETE'
    const headers = { authorization: `Bearer ${account.key}` }
    for (const email of IMPORTED) await fetch(`${url}/api/v1/suppression/${email}`, { method, headers })
    const output = await GENERATORS[name]!({ folder: release, programs, document, url, run: runAgainst(url) })
    expect(JSON.parse(output)).toEqual(EXPECTED)
  },
)
