import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type NpmStart, namespacesOf, npmStart, send } from './npm-start.ts'

let npm: NpmStart

beforeAll(async () => {
  npm = await npmStart()
})

afterEach(() => npm.stop())

afterAll(() => npm.remove())

test('a send that was accepted is answered although SIGTERM comes in the middle', async () => {
  const { program, ready } = await npm.serving()
  const answer = send(ready, 'connection_timeout@simulator.test')
  await sleep(500)
  const code = program.kill()
  expect(await answer).toMatchObject({ status: 'bounced', reason: 'connection_timeout' })
  expect(await code).toBe(0)
  await npm.nothingIsLeft()
})

test('npm start serves on when its terminal closes, and SIGTERM still ends it', async () => {
  const { program, ready } = await npm.serving()
  process.kill(-program.pid, 'SIGHUP')
  await sleep(500)
  expect(await send(ready, 'delivered@simulator.test')).toMatchObject({ status: 'delivered' })
  expect(await program.kill()).toBe(0)
  await npm.nothingIsLeft()
})

test('when npm start is killed, nothing that it has started lives on', async () => {
  const { program } = await npm.serving()
  await program.kill('SIGKILL')
  // A worker that is just then about to begin asks Temporal, which is gone, for 20 s.
  await npm.nothingIsLeft(30_000)
})

test('when PostgreSQL dies, it is said, and everything ends with 1', async () => {
  const { program } = await npm.serving()
  const pid = Number((await readFile(join(npm.dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
  process.kill(pid, 'SIGKILL')
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain('The embedded PostgreSQL ended')
  await npm.nothingIsLeft()
})

test.each([
  ['API', 'server/main.ts', 'verdict.log'],
  ['worker', 'workflows/worker.ts', 'worker.log'],
])('when the %s dies, it is said with the end of its log, and everything ends with 1', async (name, file, log) => {
  const { program } = await npm.serving()
  await expect.poll(() => readFile(join(npm.dataDir, log), 'utf8')).toContain('"ready"')
  process.kill(await npm.pidOf(new RegExp(`node .*${file}`)), 'SIGKILL')
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain(`The ${name} ended (SIGKILL)`)
  expect(program.stderr()).toMatch(new RegExp(`${log}:\n\\{.*"ready"`, 's'))
  await npm.nothingIsLeft()
})

test('when Temporal dies, it is said, and Temporal started again at the same place with what it knew', {
  timeout: 60_000,
}, async () => {
  const { program, ready } = await npm.serving()
  const namespaceId = async () => /"id": "[^"]+"/.exec(await namespacesOf(ready.temporal_ui_url))?.[0]
  await expect.poll(namespaceId).toBeDefined()
  const before = await namespaceId()
  process.kill(await npm.pidOf(/^\d+ \S*temporal\S* server start-dev/), 'SIGKILL')
  await expect.poll(() => program.stderr()).toMatch(/Temporal ended.*again in 1 s.*temporal\.log/s)
  await expect.poll(namespaceId).toBe(before)
  expect(await program.kill()).toBe(0)
  await npm.nothingIsLeft()
})

test('while Temporal is being built, everything else serves, and Ctrl-C ends the build too', async () => {
  const bin = join(npm.folder, 'bin')
  await mkdir(bin)
  const go = '#!/bin/sh\n[ "$1" = env ] && echo go1.99.0 && exit\nexec sleep 600\n'
  await writeFile(join(bin, 'temporal'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  await writeFile(join(bin, 'go'), go, { mode: 0o755 })
  const { program, ready } = await npm.serving({
    PATH: `${bin}:${process.env.PATH}`,
    XDG_CACHE_HOME: join(npm.folder, 'cache'),
    HTTPS_PROXY: 'http://127.0.0.1:1',
  })
  expect(await send(ready, 'delivered@simulator.test')).toMatchObject({ status: 'delivered' })
  await expect.poll(() => program.stderr()).toMatch(/Temporal [\d.]+ is being built with Go/)
  await expect.poll(() => npm.pidOf(/^\d+ sleep 600/)).toBeGreaterThan(0)
  expect(program.stdout().trimEnd().split('\n').at(-1)).toBe(`ready ${ready.url}`)
  expect(await program.kill('SIGINT')).toBe(0)
  await npm.nothingIsLeft()
})

test('a second Ctrl-C does not wait for what was accepted', async () => {
  const { program, ready } = await npm.serving()
  const answer = send(ready, 'connection_timeout@simulator.test').catch(() => 'cut')
  await sleep(300)
  program.kill('SIGINT')
  await sleep(600)
  program.kill('SIGINT')
  expect(await answer).toBe('cut')
  expect(await program.ended).toBe(0)
})

test('when PostgreSQL dies in the middle of a send, that is told and everything ended at once', async () => {
  const { program, ready } = await npm.serving()
  const answer = send(ready, 'connection_timeout@simulator.test').catch(() => 'cut')
  await sleep(500)
  const pid = Number((await readFile(join(npm.dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
  process.kill(pid, 'SIGQUIT')
  expect(await answer).toBe('cut')
  expect(await program.ended).toBe(1)
  expect(program.stderr()).toContain('npm start starts it again')
  await npm.nothingIsLeft()
})
