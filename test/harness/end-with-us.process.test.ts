import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const HARNESS = fileURLToPath(new URL('.', import.meta.url))

test.each([
  ['a stopped process', `await (await import('${HARNESS}silent-port.ts')).startSilentPort()`],
  ['a program', `(await import('${HARNESS}process.ts')).startProgram('sleep', ['600'], {})`],
])('a test process that is killed ends %s with it, and its output closes', async (_, start) => {
  const code = `${start}; console.log('started'); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await once(child.stdout, 'data')
  const children = await childrenOf(child.pid!)
  expect(children).not.toEqual([])
  const close = once(child, 'close')
  child.kill('SIGKILL')
  // 'close' comes when no process holds its output any more.
  expect(await close).toEqual([null, 'SIGKILL'])
  await expect.poll(() => living(children)).toEqual([])
})

async function childrenOf(parent: number): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const parents = await Promise.all(pids.map(async (pid) => [pid, (await statusOf(pid)).parent] as const))
  return parents.filter(([, its]) => its === parent).map(([pid]) => pid)
}

async function living(pids: string[]): Promise<string[]> {
  const states = await Promise.all(pids.map(async (pid) => [pid, (await statusOf(pid)).state] as const))
  return states.filter(([, state]) => state !== undefined && state !== 'Z').map(([pid]) => pid)
}

/** Reads the state and the parent, which follow the name in `/proc/<pid>/stat`. */
async function statusOf(pid: string): Promise<{ state?: string; parent?: number }> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { state: state || undefined, parent: Number(parent) }
}
