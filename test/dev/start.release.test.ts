import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { messages } from '../../server/db/schema.ts'
import type { PublishedRecord } from '../../server/domains/records.ts'
import { published } from '../domains/verifying.ts'
import { startDns } from '../harness/dns.ts'
import { testDatabase } from '../harness/postgres.ts'
import { startReceiver } from '../harness/receiver.ts'
import { listenUntilEnd, untilEnd } from '../harness/until-end.ts'
import { connectClient } from '../smtp-front/client.ts'
import { authorization, namespacesOf, npmStart, send } from './npm-start.ts'

const npm = await npmStart()

afterEach(() => npm.stop())

afterAll(() => npm.remove())

test('the first npm start prints a command that sends an email, and Ctrl-C ends every process', async () => {
  const { program, ready } = await npm.startAndWait({}, ['npm', 'start'])
  const { stdout } = await promisify(execFile)('sh', ['-c', firstCommand(program.stdout())])
  expect(JSON.parse(stdout)).toMatchObject({ status: 'delivered', message_id: expect.stringMatching(/^msg_/) })
  expect(program.stdout().trimEnd().split('\n').at(-1)).toBe(`ready ${ready.url}`)
  process.kill(-program.pid, 'SIGINT')
  await program.ended
  await npm.expectNoProcess()
})

test('the ready file has the addresses, the keys and the process id, and only its owner can read it', async () => {
  const { program, ready } = await npm.startAndWait()
  expect(ready).toEqual({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    grpc_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    dashboard_url: `${ready.url}/dashboard`,
    metrics_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/),
    temporal_ui_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    keys: { live: expect.stringMatching(/^svc_live_/), test: expect.stringMatching(/^svc_test_/) },
    pid: program.pid,
  })
  for (const path of [
    npm.readyFile,
    ...['keys.json', 'database.json', 'encryption.keys', 'instance.json'].map((n) => join(npm.dataDir, n)),
  ]) {
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  }
  // The command line finds the instance by this file, whatever its port.
  expect(JSON.parse(await readFile(join(npm.dataDir, 'instance.json'), 'utf8'))).toEqual({ url: ready.url })
  await expect.poll(() => namespacesOf(ready.temporal_ui_url)).toContain('"name": "default"')
  expect(program.stdout()).toContain(ready.temporal_ui_url)
  expect(program.stdout()).toContain(ready.keys.live)
  expect(program.stdout()).toContain(ready.keys.test)
  expect(program.stdout()).toMatch(new RegExp(`${ready.url}/dashboard/invitation/[\\w-]{43} `))
})

test('the doctor finds nothing to mend beside a fresh npm start', async () => {
  await npm.startAndWait()
  const { PATH } = process.env
  const diagnosis = () =>
    promisify(execFile)(process.execPath, ['cli/verdict.ts', 'doctor'], {
      env: { PATH, DATA_DIR: npm.dataDir },
    }).then(
      ({ stdout }) => stdout,
      ({ stdout }) => stdout,
    )
  // The worker connects to Temporal after the API is ready.
  await expect
    .poll(diagnosis, { timeout: 60_000 })
    .toMatch(/^ {2}ok {7}worker [\s\S]*^All is well: \d+ ok, \d+ skipped\.$/m)
})

test('SMTP_FRONT_PORT is printed with the other addresses, and programs send there with the printed key', async () => {
  const port = await freePort()
  const { program, ready } = await npm.startAndWait({ SMTP_FRONT_PORT: String(port) })
  expect(program.stdout()).toContain(`SMTP                  127.0.0.1:${port}  (any user name, an API key`)
  const client = await connectClient(port)
  expect(await client.logIn(ready.keys.live)).toMatch(/^235/)
  client.end()
})

/** What others may do with a file. A journal of SQLite, which lasts for a transaction, may be gone by now. */
async function openTo(path: string): Promise<number> {
  const found = await stat(path).catch((error) => {
    if (!path.endsWith('-journal') || error.code !== 'ENOENT') throw error
  })
  return found ? found.mode & 0o066 : 0
}

test('no other user can read a file in DATA_DIR, the database of Temporal included', async () => {
  await npm.startAndWait()
  await expect.poll(() => readdir(npm.dataDir), { timeout: 30_000 }).toContain('temporal.db')
  const paths = [npm.dataDir, ...(await readdir(npm.dataDir)).map((name) => join(npm.dataDir, name))]
  for (const path of paths) expect({ path, open: await openTo(path) }).toEqual({ path, open: 0 })
})

test('a second start has the keys and the messages of the first', async () => {
  const first = await npm.startAndWait()
  const { message_id } = await send(first.ready, 'delivered@simulator.test')
  expect(await first.program.kill()).toBe(0)
  const { ready } = await npm.startAndWait()
  expect(ready.keys).toEqual(first.ready.keys)
  const response = await fetch(`${ready.url}/api/v1/emails/${message_id}`, authorization(ready.keys.live))
  expect(await response.json()).toMatchObject({ message_id, status: 'delivered' })
})

test('the live key sends, and the test key makes dry runs only', async () => {
  const { ready } = await npm.startAndWait()
  const live = await send(ready, 'mailbox_full@simulator.test')
  expect(live).toMatchObject({ status: 'bounced', reason: 'mailbox_full', smtp: { code: 452 } })
  const dry = await send({ ...ready, keys: { live: ready.keys.test } }, 'mailbox_full@simulator.test')
  expect(dry).toMatchObject({ status: 'bounced', reason: 'mailbox_full', sandbox: true })
})

test('a workflow retries a webhook to this machine that is not acknowledged', async () => {
  const receiver = await startReceiver()
  receiver.script = () => ({ status: receiver.requests.length > 1 ? 200 : 503 })
  const { ready } = await npm.startAndWait({ WEBHOOK_SCHEDULE: '0,1s' })
  const { headers } = authorization(ready.keys.live)
  const put = { method: 'PUT', headers: { ...headers, 'content-type': 'application/json' } }
  const response = await fetch(`${ready.url}/api/v1/webhook`, { ...put, body: JSON.stringify({ url: receiver.url }) })
  expect(response.status).toBe(200)
  const { message_id } = await send(ready, 'delivered@simulator.test')
  await expect.poll(() => receiver.requests.length, { timeout: 60_000 }).toBe(2)
  for (const { body } of receiver.requests) expect(JSON.parse(String(body))).toMatchObject({ message_id })
  const workflows = () =>
    fetch(`${ready.temporal_ui_url}/api/v1/namespaces/default/workflows`).then((all) => all.text())
  await expect.poll(workflows).toMatch(/deliverWebhooks/)
  await receiver.close()
})

test('a domain is verified with a local DNS server when only DNS_SERVERS is set', async () => {
  const dns = untilEnd(await startDns())
  const { ready } = await npm.startAndWait({ DNS_SERVERS: dns.address, TEMPORAL_ADDRESS: '127.0.0.1:1' })
  const { headers } = authorization(ready.keys.live)
  const call = async (path: string, body: object = {}) => {
    const request = {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }
    return (await fetch(`${ready.url}/api/v1/domains${path}`, request)).json() as Promise<Domain>
  }
  const { domain_id: id, records } = await call('', { domain: 'shop.example' })
  for (const record of records) dns.zone[`${record.type} ${record.host}`] = [published(record)]
  // The service queries DNS for a domain at most every five seconds.
  await expect
    .poll(() => call(`/${id}/verify`), { timeout: 20_000, interval: 1_000 })
    .toMatchObject({ status: 'verified' })
})

/** A domain as the API returns it. */
interface Domain {
  domain_id: string
  status: string
  records: PublishedRecord[]
}

test('DATABASE_URL replaces the embedded database', async () => {
  const database = await testDatabase()
  const own = join(npm.folder, 'own')
  const { program, ready } = await npm.startAndWait({ DATABASE_URL: database.url, DATA_DIR: own })
  await send(ready, 'delivered@simulator.test')
  expect(await database.db.$count(messages)).toBe(1)
  await expect(stat(join(own, 'postgres'))).rejects.toThrow('ENOENT')
  expect(await program.kill()).toBe(0)
})

test('TEMPORAL_ADDRESS replaces the embedded Temporal, and one that cannot be reached is named', async () => {
  const own = join(npm.folder, 'own-temporal')
  const env = { TEMPORAL_ADDRESS: '127.0.0.1:1', TEMPORAL_UI_URL: 'https://temporal.example.test/' }
  const { program, ready } = await npm.startAndWait({ ...env, DATA_DIR: own })
  expect(ready.temporal_ui_url).toBe('https://temporal.example.test')
  expect(program.stderr()).toContain('TEMPORAL_ADDRESS: 127.0.0.1:1 cannot be reached (ECONNREFUSED)')
  expect(await program.kill()).toBe(0)
  await expect(stat(join(own, 'temporal.log'))).rejects.toThrow('ENOENT')
})

test('the message about a port in use names the port and a command with another one', async () => {
  const port = await listenUntilEnd(createServer())
  const program = npm.start({ PORT: String(port) })
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain(`Port ${port} is in use`)
  expect(program.stderr()).toContain(`PORT=${port + 1} npm start`)
})

test('a second npm start on the same folder says which process uses it', async () => {
  await npm.startAndWait()
  const second = npm.start({ VERDICT_READY_FILE: '' })
  expect(await second.ended).toBe(1)
  expect(second.stderr()).toMatch(/is in use: its PostgreSQL is process \d+, on port \d+/)
})

test('npm start reports every configuration fault at once, before it starts anything', async () => {
  const program = npm.start({ PORT: 'many', SMTP_PORT: 'few', DATA_DIR: join(npm.folder, 'never') })
  expect(await program.ended).toBe(78)
  expect(program.stderr()).toMatch(/PORT must be.*SMTP_PORT must be/s)
  await expect(stat(join(npm.folder, 'never'))).rejects.toThrow('ENOENT')
})

test.each<[what: string, env: NodeJS.ProcessEnv, parts: string[]]>([
  ['a database that is down', { DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x' }, ['ECONNREFUSED', 'DATABASE_URL']],
  ['a folder that is a file', { DATA_DIR: 'package.json' }, ['DATA_DIR', 'package.json', 'EEXIST']],
  ['a ready file in a missing folder', { VERDICT_READY_FILE: 'nowhere/ready.json' }, ['VERDICT_READY_FILE', 'ENOENT']],
])('the message about %s has no stack trace', async (_, env, parts) => {
  const program = npm.start({ DATA_DIR: join(npm.folder, 'refused'), ...env })
  expect(await program.ended).toBe(1)
  for (const part of parts) expect(program.stderr()).toContain(part)
  expect(program.stderr()).not.toMatch(/^ {4}at |hunter2/m)
})

test('npm start refuses to run with NODE_ENV=production', async () => {
  const program = npm.start({ NODE_ENV: 'production' })
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain('npm run api')
})

/** The output from `curl` to the next empty line. */
function firstCommand(text: string): string {
  return text.match(/^curl .*?(?=\n\n)/ms)![0]
}
