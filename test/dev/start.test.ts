import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { messages } from '../../server/db/schema.ts'
import { testDatabase } from '../harness/postgres.ts'
import { type RunningProcess, said, startProgram } from '../harness/process.ts'

let folder: string
const running: RunningProcess[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'verdict-start-'))
})

afterEach(async () => {
  for (const program of running.splice(0)) await program.kill('SIGTERM')
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const dataDir = () => join(folder, 'data')
const readyFile = () => join(folder, 'ready.json')

function start(env: NodeJS.ProcessEnv = {}, command = [process.execPath, 'dev/start.ts']): RunningProcess {
  const all = { PORT: '0', DATA_DIR: dataDir(), VERDICT_READY_FILE: readyFile(), ...env }
  const program = startProgram(command[0]!, command.slice(1), all)
  running.push(program)
  return program
}

async function serving(env?: NodeJS.ProcessEnv, command?: string[]) {
  const program = start(env, command)
  await said(program, /^ready .*\n/m)
  return { program, ready: JSON.parse(await readFile(readyFile(), 'utf8')) }
}

interface Parts {
  url: string
  pid: number
}

/** Nothing serves any more: not the API, not PostgreSQL, not the process that started both. */
async function nothingIsLeftOf({ url, pid }: Parts): Promise<void> {
  const port = (await readFile(join(dataDir(), 'postgres.log'), 'utf8')).match(/port (\d+)/)![1]
  for (const address of [url, `http://127.0.0.1:${port}`]) {
    await expect.poll(() => fetch(address).catch((error) => error.cause.code), { timeout: 15_000 }).toBe('ECONNREFUSED')
  }
  expect(() => process.kill(pid, 0)).toThrow('ESRCH')
}

test('npm start, from nothing, prints a command that says delivered, and Ctrl-C leaves nothing behind', async () => {
  const { program, ready } = await serving({}, ['npm', 'start'])
  const { stdout } = await promisify(execFile)('sh', ['-c', firstCommand(program.stdout())])
  expect(JSON.parse(stdout)).toMatchObject({ status: 'delivered', message_id: expect.stringMatching(/^msg_/) })
  expect(program.stdout().trimEnd().split('\n').at(-1)).toBe(`ready ${ready.url}`)
  process.kill(-program.pid, 'SIGINT')
  await program.ended
  await nothingIsLeftOf(ready)
})

test('the ready file has the addresses, the keys and the process to stop, for its owner alone', async () => {
  const { program, ready } = await serving()
  expect(ready).toEqual({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    grpc_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    keys: { live: expect.stringMatching(/^svc_live_/), test: expect.stringMatching(/^svc_test_/) },
    pid: program.pid,
  })
  for (const path of [
    readyFile(),
    ...['keys.json', 'database.json', 'encryption.keys'].map((n) => join(dataDir(), n)),
  ]) {
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  }
  expect(program.stdout()).toContain(ready.keys.live)
  expect(program.stdout()).toContain(ready.keys.test)
})

test('a second start has the keys and the messages of the first', async () => {
  const first = await serving()
  const { message_id } = await send(first.ready, 'delivered@simulator.test')
  expect(await first.program.kill()).toBe(0)
  const { ready } = await serving()
  expect(ready.keys).toEqual(first.ready.keys)
  const response = await fetch(`${ready.url}/api/v1/emails/${message_id}`, authorized(ready.keys.live))
  expect(await response.json()).toMatchObject({ message_id, status: 'delivered' })
})

test('the live key sends and the test key only ever makes dry runs', async () => {
  const { ready } = await serving()
  const live = await send(ready, 'mailbox_full@simulator.test')
  expect(live).toMatchObject({ status: 'bounced', reason: 'mailbox_full', smtp: { code: 452 } })
  const dry = await send({ ...ready, keys: { live: ready.keys.test } }, 'mailbox_full@simulator.test')
  expect(dry).toMatchObject({ status: 'bounced', reason: 'mailbox_full', sandbox: true })
})

test('a send that was accepted is answered although SIGTERM comes in the middle', async () => {
  const { program, ready } = await serving()
  const answer = send(ready, 'connection_timeout@simulator.test')
  await sleep(500)
  const code = program.kill()
  expect(await answer).toMatchObject({ status: 'bounced', reason: 'connection_timeout' })
  expect(await code).toBe(0)
  await nothingIsLeftOf(ready)
})

test('when npm start is killed, the API and PostgreSQL do not live on', async () => {
  const { program, ready } = await serving()
  await program.kill('SIGKILL')
  await nothingIsLeftOf(ready)
})

test('when PostgreSQL dies, it is said, and everything ends with 1', async () => {
  const { program, ready } = await serving()
  const pid = Number((await readFile(join(dataDir(), 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
  process.kill(pid, 'SIGKILL')
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain('The embedded PostgreSQL ended')
  await nothingIsLeftOf(ready)
})

test('when the API dies, it is said with the end of its log, and everything ends with 1', async () => {
  const { program, ready } = await serving()
  process.kill(await apiOf(program), 'SIGKILL')
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toMatch(/The API ended \(SIGKILL\).*verdict\.log:\n\{.*"ready"/s)
  await nothingIsLeftOf(ready)
})

test('a second Ctrl-C does not wait for what was accepted', async () => {
  const { program, ready } = await serving()
  const answer = send(ready, 'connection_timeout@simulator.test').catch(() => 'cut')
  await sleep(300)
  program.kill('SIGINT')
  await sleep(600)
  program.kill('SIGINT')
  expect(await answer).toBe('cut')
  expect(await program.ended).toBe(0)
})

test('DATABASE_URL replaces the embedded database', async () => {
  const database = await testDatabase()
  const own = join(folder, 'own')
  const { program, ready } = await serving({ DATABASE_URL: database.url, DATA_DIR: own })
  await send(ready, 'delivered@simulator.test')
  expect(await database.db.$count(messages)).toBe(1)
  await expect(stat(join(own, 'postgres'))).rejects.toThrow('ENOENT')
  expect(await program.kill()).toBe(0)
  await database.drop()
})

test('a port that is in use is named with the way out', async () => {
  await using other = await listening()
  const program = start({ PORT: String(other.port) })
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain(`Port ${other.port} is in use`)
  expect(program.stderr()).toContain(`PORT=${other.port + 1} npm start`)
})

test('a second npm start on the same folder is told what uses it', async () => {
  await serving()
  const second = start({ VERDICT_READY_FILE: '' })
  expect(await second.ended).toBe(1)
  expect(second.stderr()).toMatch(/is in use: its PostgreSQL is process \d+, on port \d+/)
})

test('every fault of the configuration is told at once, before anything is started', async () => {
  const program = start({ PORT: 'many', SMTP_PORT: 'few', DATA_DIR: join(folder, 'never') })
  expect(await program.ended).toBe(78)
  expect(program.stderr()).toMatch(/PORT must be.*SMTP_PORT must be/s)
  await expect(stat(join(folder, 'never'))).rejects.toThrow('ENOENT')
})

test.each<[what: string, env: NodeJS.ProcessEnv, words: string[]]>([
  [
    'a database that is not there',
    { DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x' },
    ['ECONNREFUSED', 'DATABASE_URL'],
  ],
  ['a folder that is a file', { DATA_DIR: 'package.json' }, ['DATA_DIR', 'package.json', 'EEXIST']],
  ['a ready file in no folder', { VERDICT_READY_FILE: 'nowhere/ready.json' }, ['VERDICT_READY_FILE', 'ENOENT']],
])('%s is told in words, without a stack', async (_, env, words) => {
  const program = start({ DATA_DIR: join(folder, 'told'), ...env })
  expect(await program.ended).toBe(1)
  for (const word of words) expect(program.stderr()).toContain(word)
  expect(program.stderr()).not.toMatch(/^ {4}at |hunter2/m)
})

test('when PostgreSQL dies in the middle of a send, that is told and everything ended at once', async () => {
  const { program, ready } = await serving()
  const answer = send(ready, 'connection_timeout@simulator.test').catch(() => 'cut')
  await sleep(500)
  const pid = Number((await readFile(join(dataDir(), 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
  process.kill(pid, 'SIGQUIT')
  expect(await answer).toBe('cut')
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain('npm start starts it again')
  await nothingIsLeftOf(ready)
})

test('production is not started by accident', async () => {
  const program = start({ NODE_ENV: 'production' })
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain('npm run api')
})

/** The child of its that runs server/main.ts. */
async function apiOf({ pid }: RunningProcess): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ')
  const commands = await Promise.all(children.map((child) => readFile(`/proc/${child}/cmdline`, 'utf8')))
  return Number(children[commands.findIndex((command) => command.includes('server/main.ts'))])
}

/** What is printed from `curl` up to the next empty line. */
function firstCommand(text: string): string {
  return text.match(/^curl .*?(?=\n\n)/ms)![0]
}

async function send({ url, keys }: { url: string; keys: { live: string } }, to: string) {
  const { headers } = authorized(keys.live)
  const body = JSON.stringify({ from: 'hello@example.test', to, subject: 'Hello', text: 'Hi' })
  const response = await fetch(`${url}/api/v1/emails/send`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  })
  return response.json() as Promise<Record<string, unknown>>
}

function authorized(key: string) {
  return { headers: { authorization: `Bearer ${key}` } }
}

async function listening(): Promise<{ port: number } & AsyncDisposable> {
  const server: Server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return { port, [Symbol.asyncDispose]: async () => void server.close() }
}
