import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { snippets } from '../docs/snippets.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { type Account, createSender, type Product, startProduct } from './product.ts'
import { type Python, pythons } from './pythons.ts'

// The Python client as its users get it: a wheel, installed into a clean virtual environment, without the rest of this
// repository. The newest Python is the newest of this machine: none is downloaded.

const run = promisify(execFile)
const CLIENT = resolve('client/python')
const TESTS = resolve('test/real/python-client')
const DOWNLOAD_MS = 300_000

const found = pythons(11)
const oldest = found[0]!
const newest = found.at(-1)!
/** The oldest Python gets the oldest httpx that the package allows. */
const WORLDS: [python: Python, httpx: string][] = [
  [oldest, '0.27.0'],
  [newest, '0.28.1'],
]

const README = snippets(await readFile(join(CLIENT, 'README.md'), 'utf8'))
const blocks = (language: string) =>
  README.flatMap((block) => (block.language === language && block.mark !== 'not-run' ? [block.text] : []))

/** Signs requests as the service does, and prints the statuses that the guide's receiver responds with. */
const REQUESTS = `
import hashlib
import hmac
import json
import time

os.environ["WEBHOOK_SECRET"] = "whsec_test"
body = json.dumps(
    {"event": "email.delivery", "status": "bounced", "recipient": "ann@example.com", "reason": "mailbox_full"}
).encode()
for secret in ("whsec_test", "whsec_other"):
    timestamp = str(int(time.time()))
    signature = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    print(receive(body, {"Service-Timestamp": timestamp, "Service-Signature": signature}))
`
const PROGRAM = blocks('python').join('\n') + REQUESTS
const PRINTED = `${blocks('text').join('')}ann@example.com mailbox_full\n200\n401\n`

let account: Account
let product: Product
let folder: string
let wheel: string
beforeAll(async () => {
  account = await createSender('example.test')
  // Mail to the simulator needs no DNS.
  product = await startProduct(account, { DNS_SERVERS: '127.0.0.1:1' })
  folder = temporaryFolder()
  await run(newest.path, ['-m', 'pip', 'wheel', '--quiet', '--no-deps', '--wheel-dir', folder, CLIENT])
  wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'))!
}, DOWNLOAD_MS)
test('the wheel is for every Python 3, has its types, and nothing but the package', async () => {
  expect(wheel).toMatch(/^verdict_client-[\d.]+-py3-none-any\.whl$/)
  const list = 'import sys, zipfile; print("\\n".join(zipfile.ZipFile(sys.argv[1]).namelist()))'
  const { stdout } = await run(newest.path, ['-c', list, join(folder, wheel)])
  const names = stdout.trim().split('\n')
  expect(names).toContain('verdict_client/py.typed')
  expect(names).toContain('verdict_client/_sync/emails.py')
  expect(names.filter((name) => !/^verdict_client(\/|-[\d.]+\.dist-info\/)/.test(name))).toEqual([])
})

describe.each(WORLDS.map(([python, httpx]) => ({ ...python, httpx })))('Python $version, httpx $httpx', (world) => {
  let bin: string
  const python = (...args: string[]) => {
    const env = { PATH: bin, VERDICT_URL: product.api.url, VERDICT_API_KEY: account.key }
    return run(join(bin, 'python'), args, {
      cwd: folder,
      env: { ...env, VECTORS: resolve('docs/verify/vectors.json') },
    })
  }

  beforeAll(async () => {
    const environment = join(folder, world.version)
    bin = join(environment, 'bin')
    await run(world.path, ['-m', 'venv', environment])
    const packages = ['-r', join(TESTS, 'requirements.txt'), `httpx==${world.httpx}`, join(folder, wheel)]
    await python('-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages)
  }, DOWNLOAD_MS)

  test("the guide's program runs, and prints what the guide says", async () => {
    const { stdout: version } = await python('--version')
    expect(version).toContain(`Python ${world.version}.`)
    await writeFile(join(folder, 'program.py'), PROGRAM)
    expect((await python('-W', 'error', 'program.py')).stdout).toBe(PRINTED)
  })

  test('both clients read the stream of events of an instance, resumed at a position and live', async () => {
    const { stdout } = await python('-W', 'error', join(TESTS, 'stream_program.py'))
    expect(JSON.parse(stdout)).toEqual([
      ['delivered', 'sync'],
      ['delivered', 'async'],
    ])
  })

  test(
    "the guide's program and the package hold in mypy's strict mode, which finds the mistakes of callers",
    async () => {
      await writeFile(join(folder, 'program.py'), PROGRAM)
      const options = ['--strict', '--no-error-summary', '--cache-dir', join(folder, 'cache', world.version)]
      const programs = ['program.py', join(TESTS, 'types_program.py'), join(TESTS, 'stream_program.py')]
      for (const what of [programs, ['--package', 'verdict_client']]) {
        const { stdout } = await python('-m', 'mypy', ...options, ...what).catch((error) => error)
        expect(stdout).toBe('')
      }
    },
    DOWNLOAD_MS,
  )

  test(
    'both clients follow the rules of retries, keys and pages',
    async () => {
      const { stderr } = await python(join(TESTS, 'test_client.py')).catch((error) => error)
      expect(stderr.split('\n').slice(-40).join('\n')).toMatch(/^Ran \d\d tests in [\d.]+s\n\nOK\n$/m)
    },
    DOWNLOAD_MS,
  )
})
