import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { waitForOutput } from '../harness/process.ts'
import { outlast, quietFor } from '../harness/waits.ts'
import { namespacesOf, npmStart, send } from './npm-start.ts'

const npm = await npmStart()

afterEach(() => npm.stop())

afterAll(() => npm.remove())

test('an accepted send gets its response even when SIGTERM comes in the middle', async () => {
  const { program, ready } = await npm.startAndWait()
  const { response } = await npm.openSend(ready)
  const code = program.kill()
  expect(await response).toMatchObject({ status: 'bounced', reason: 'connection_timeout' })
  expect(await code).toBe(0)
  await npm.expectNoProcess()
})

test('npm start keeps serving when its terminal closes, and SIGTERM still ends it', async () => {
  const { program, ready } = await npm.startAndWait()
  process.kill(-program.pid, 'SIGHUP')
  await quietFor(500)
  expect(await send(ready, 'delivered@simulator.test')).toMatchObject({ status: 'delivered' })
  expect(await program.kill()).toBe(0)
  await npm.expectNoProcess()
})

test('every process that npm start has started ends when npm start is killed', async () => {
  const { program } = await npm.startAndWait()
  await program.kill('SIGKILL')
  // A worker that is just starting tries to reach Temporal, which has ended, for 20 s.
  await npm.expectNoProcess(60_000)
})

test('npm start reports that PostgreSQL died, and exits with 1', async () => {
  const { program } = await npm.startAndWait()
  const pid = Number((await readFile(join(npm.dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
  process.kill(pid, 'SIGKILL')
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain('The embedded PostgreSQL ended')
  await npm.expectNoProcess()
})

test.each([
  ['API', 'server/main.ts', 'verdict.log'],
  ['worker', 'workflows/worker.ts', 'worker.log'],
])('npm start reports that the %s died, with the end of its log, and exits with 1', async (name, file, log) => {
  const { program } = await npm.startAndWait()
  await expect.poll(() => readFile(join(npm.dataDir, log), 'utf8')).toContain('"ready"')
  process.kill(await npm.pidOf(new RegExp(`node .*${file}`)), 'SIGKILL')
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain(`The ${name} ended (SIGKILL)`)
  expect(program.stderr()).toMatch(new RegExp(`${log}:\n\\{.*"ready"`, 's'))
  await npm.expectNoProcess()
})

test('npm start reports that Temporal died, and starts it again at the same address with its history', async () => {
  const { program, ready } = await npm.startAndWait()
  const namespaceId = async () => /"id": "[^"]+"/.exec(await namespacesOf(ready.temporal_ui_url))?.[0]
  await expect.poll(namespaceId).toBeDefined()
  const before = await namespaceId()
  process.kill(await npm.pidOf(/^\d+ \S*temporal\S* server start-dev/), 'SIGKILL')
  await expect.poll(() => program.stderr()).toMatch(/Temporal ended.*again in 1 s.*temporal\.log/s)
  await expect.poll(namespaceId).toBe(before)
  expect(await program.kill()).toBe(0)
  await npm.expectNoProcess()
})

test('everything else serves while Temporal is built, and Ctrl-C also ends the build', async () => {
  const bin = join(npm.folder, 'bin')
  await mkdir(bin)
  const go = '#!/bin/sh\n[ "$1" = env ] && echo go1.99.0 && exit\nexec sleep 600\n'
  await writeFile(join(bin, 'temporal'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  await writeFile(join(bin, 'go'), go, { mode: 0o755 })
  const { program, ready } = await npm.startAndWait({
    PATH: `${bin}:${process.env.PATH}`,
    XDG_CACHE_HOME: join(npm.folder, 'cache'),
    HTTPS_PROXY: 'http://127.0.0.1:1',
  })
  expect(await send(ready, 'delivered@simulator.test')).toMatchObject({ status: 'delivered' })
  await expect.poll(() => program.stderr()).toMatch(/Temporal [\d.]+ is being built with Go/)
  await expect.poll(() => npm.pidOf(/^\d+ sleep 600/)).toBeGreaterThan(0)
  expect(program.stdout().trimEnd().split('\n').at(-1)).toBe(`ready ${ready.url}`)
  expect(await program.kill('SIGINT')).toBe(0)
  await npm.expectNoProcess()
})

test('Ctrl-C while the first start creates the database ends npm start without an error, and the next one serves', async () => {
  const dataDir = join(npm.folder, 'interrupted')
  const program = npm.start({ DATA_DIR: dataDir })
  const creates = () => readdir(join(dataDir, 'postgres.new', 'base')).catch(() => [])
  await expect.poll(creates, { interval: 10 }).not.toEqual([])
  process.kill(-program.pid, 'SIGINT')
  expect(await program.ended).toBe(0)
  expect(program.stderr()).toBe('')
  expect(program.stdout()).toMatch(/\nStopped before it was ready\.\n$/)
  await npm.startAndWait({ DATA_DIR: dataDir })
})

test('a second Ctrl-C does not wait for accepted requests', async () => {
  const { program, ready } = await npm.startAndWait()
  const { response } = await npm.openSend(ready)
  program.kill('SIGINT')
  await waitForOutput(program, /Press Ctrl-C again/)
  await outlast(600)
  program.kill('SIGINT')
  expect(await response).toBe('cut')
  expect(await program.ended).toBe(0)
})

test('npm start reports that PostgreSQL died in the middle of a send, and ends at once', async () => {
  const { program, ready } = await npm.startAndWait()
  const { response } = await npm.openSend(ready)
  const pid = Number((await readFile(join(npm.dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
  process.kill(pid, 'SIGQUIT')
  expect(await response).toBe('cut')
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain('npm start starts it again')
  await npm.expectNoProcess()
})
