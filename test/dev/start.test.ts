import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
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

/** No process lives that was started for this folder: neither API nor worker, PostgreSQL, Temporal, or who keeps them. */
async function nothingIsLeft(): Promise<void> {
  await expect.poll(() => processesOf(dataDir()), { timeout: 15_000 }).toEqual([])
}

async function processesOf(dataDir: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const read = (pid: string, file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
  const theirs = pids.map(async (pid) => {
    const isTheirs = (await read(pid, 'environ')).split('\0').includes(`DATA_DIR=${dataDir}`)
    return isTheirs ? [`${pid} ${(await read(pid, 'cmdline')).replaceAll('\0', ' ')}`] : []
  })
  return (await Promise.all(theirs)).flat()
}

async function pidOf(command: RegExp): Promise<number> {
  const found = (await processesOf(dataDir())).find((process) => command.test(process))
  return Number.parseInt(found ?? '', 10)
}

const namespacesOf = (uiUrl: string) =>
  fetch(`${uiUrl}/api/v1/namespaces`).then(
    (answer) => answer.text(),
    () => 'nothing',
  )

test('npm start, from nothing, prints a command that says delivered, and Ctrl-C leaves nothing behind', async () => {
  const { program, ready } = await serving({}, ['npm', 'start'])
  const { stdout } = await promisify(execFile)('sh', ['-c', firstCommand(program.stdout())])
  expect(JSON.parse(stdout)).toMatchObject({ status: 'delivered', message_id: expect.stringMatching(/^msg_/) })
  expect(program.stdout().trimEnd().split('\n').at(-1)).toBe(`ready ${ready.url}`)
  process.kill(-program.pid, 'SIGINT')
  await program.ended
  await nothingIsLeft()
})

test('the ready file has the addresses, the keys and the process to stop, for its owner alone', async () => {
  const { program, ready } = await serving()
  expect(ready).toEqual({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    grpc_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    temporal_ui_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    keys: { live: expect.stringMatching(/^svc_live_/), test: expect.stringMatching(/^svc_test_/) },
    pid: program.pid,
  })
  for (const path of [
    readyFile(),
    ...['keys.json', 'database.json', 'encryption.keys'].map((n) => join(dataDir(), n)),
  ]) {
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  }
  await expect.poll(() => namespacesOf(ready.temporal_ui_url), { timeout: 10_000 }).toContain('"name": "default"')
  expect(program.stdout()).toContain(ready.temporal_ui_url)
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
  await nothingIsLeft()
})

test('when npm start is killed, nothing that it has started lives on', async () => {
  const { program } = await serving()
  await program.kill('SIGKILL')
  await nothingIsLeft()
})

test('when PostgreSQL dies, it is said, and everything ends with 1', async () => {
  const { program } = await serving()
  const pid = Number((await readFile(join(dataDir(), 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
  process.kill(pid, 'SIGKILL')
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain('The embedded PostgreSQL ended')
  await nothingIsLeft()
})

test.each([
  ['API', 'server/main.ts', 'verdict.log'],
  ['worker', 'workflows/worker.ts', 'worker.log'],
])('when the %s dies, it is said with the end of its log, and everything ends with 1', async (name, file, log) => {
  const { program } = await serving()
  await expect.poll(() => readFile(join(dataDir(), log), 'utf8'), { timeout: 10_000 }).toContain('"ready"')
  process.kill(await pidOf(new RegExp(`node .*${file}`)), 'SIGKILL')
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain(`The ${name} ended (SIGKILL)`)
  expect(program.stderr()).toMatch(new RegExp(`${log}:\n\\{.*"ready"`, 's'))
  await nothingIsLeft()
})

test('when Temporal dies, it is said, and Temporal started again at the same place with what it knew', async () => {
  const { program, ready } = await serving()
  const namespaceId = async () => /"id": "[^"]+"/.exec(await namespacesOf(ready.temporal_ui_url))?.[0]
  await expect.poll(namespaceId, { timeout: 10_000 }).toBeDefined()
  const before = await namespaceId()
  process.kill(await pidOf(/^\d+ \S*temporal\S* server start-dev/), 'SIGKILL')
  await expect.poll(() => program.stderr(), { timeout: 5000 }).toMatch(/Temporal ended.*again in 1 s.*temporal\.log/s)
  await expect.poll(namespaceId, { timeout: 10_000 }).toBe(before)
  expect(await program.kill()).toBe(0)
  await nothingIsLeft()
})

test('while Temporal is being built, everything else serves, and Ctrl-C ends the build too', async () => {
  const bin = join(folder, 'bin')
  await mkdir(bin)
  const go = '#!/bin/sh\n[ "$1" = env ] && echo go1.99.0 && exit\nexec sleep 600\n'
  await writeFile(join(bin, 'temporal'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  await writeFile(join(bin, 'go'), go, { mode: 0o755 })
  const { program, ready } = await serving({
    PATH: `${bin}:${process.env.PATH}`,
    XDG_CACHE_HOME: join(folder, 'cache'),
    HTTPS_PROXY: 'http://127.0.0.1:1',
  })
  expect(await send(ready, 'delivered@simulator.test')).toMatchObject({ status: 'delivered' })
  await expect.poll(() => program.stderr(), { timeout: 10_000 }).toMatch(/Temporal [\d.]+ is being built with Go/)
  await expect.poll(() => pidOf(/^\d+ sleep 600/)).toBeGreaterThan(0)
  expect(program.stdout().trimEnd().split('\n').at(-1)).toBe(`ready ${ready.url}`)
  expect(await program.kill('SIGINT')).toBe(0)
  await nothingIsLeft()
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

test('TEMPORAL_ADDRESS replaces the Temporal that would be brought', async () => {
  const own = join(folder, 'own-temporal')
  const given = { TEMPORAL_ADDRESS: '127.0.0.1:1', TEMPORAL_UI_URL: 'https://temporal.example.test/' }
  const { program, ready } = await serving({ ...given, DATA_DIR: own })
  expect(ready.temporal_ui_url).toBe('https://temporal.example.test')
  expect(await program.kill()).toBe(0)
  await expect(stat(join(own, 'temporal.log'))).rejects.toThrow('ENOENT')
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
  await nothingIsLeft()
})

test('production is not started by accident', async () => {
  const program = start({ NODE_ENV: 'production' })
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain('npm run api')
})

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
