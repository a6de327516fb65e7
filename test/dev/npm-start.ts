import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type RunningProcess, startProgram, waitForOutput } from '../harness/process.ts'

export interface NpmStart {
  /** Where the test may keep more. */
  folder: string
  dataDir: string
  readyFile: string
  start(env?: NodeJS.ProcessEnv, command?: string[]): RunningProcess
  /** Starts it and waits until it is ready. */
  serving(env?: NodeJS.ProcessEnv, command?: string[]): Promise<{ program: RunningProcess; ready: Ready }>
  /** Ends all that runs of it. */
  stop(): Promise<void>
  /** The number of the process of its whose number and command line look so. */
  pidOf(command: RegExp): Promise<number>
  /** No process lives that was started for its folder: neither API nor worker, PostgreSQL, Temporal, or who keeps them. */
  nothingIsLeft(withinMs?: number): Promise<void>
  remove(): Promise<void>
}

/** What is in the ready file. */
export interface Ready {
  url: string
  temporal_ui_url: string
  keys: { live: string; test: string }
  pid: number
}

/** `npm start` on free ports, with a folder of its own. */
export async function npmStart(): Promise<NpmStart> {
  const folder = await mkdtemp(join(tmpdir(), 'verdict-start-'))
  const dataDir = join(folder, 'data')
  const readyFile = join(folder, 'ready.json')
  const running: RunningProcess[] = []
  const start = (env: NodeJS.ProcessEnv = {}, command = [process.execPath, 'dev/start.ts']) => {
    const all = { PORT: '0', DATA_DIR: dataDir, VERDICT_READY_FILE: readyFile, ...env }
    const program = startProgram(command[0]!, command.slice(1), all)
    running.push(program)
    return program
  }
  return {
    folder,
    dataDir,
    readyFile,
    start,
    async serving(env, command) {
      const program = start(env, command)
      await waitForOutput(program, /^ready .*\n/m)
      return { program, ready: JSON.parse(await readFile(readyFile, 'utf8')) }
    },
    async stop() {
      for (const program of running.splice(0)) await program.kill('SIGTERM')
    },
    async pidOf(command) {
      const found = (await processesOf(dataDir)).find((process) => command.test(process))
      return Number.parseInt(found ?? '', 10)
    },
    async nothingIsLeft(withinMs = 15_000) {
      await expect.poll(() => processesOf(dataDir), { timeout: withinMs }).toEqual([])
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** The number and the command line of each. */
async function processesOf(dataDir: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const read = (pid: string, file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
  const theirs = pids.map(async (pid) => {
    const isTheirs = (await read(pid, 'environ')).split('\0').includes(`DATA_DIR=${dataDir}`)
    return isTheirs ? [`${pid} ${(await read(pid, 'cmdline')).replaceAll('\0', ' ')}`] : []
  })
  return (await Promise.all(theirs)).flat()
}

export const namespacesOf = (uiUrl: string) =>
  fetch(`${uiUrl}/api/v1/namespaces`).then(
    (answer) => answer.text(),
    () => 'nothing',
  )

export async function send({ url, keys }: { url: string; keys: { live: string } }, to: string) {
  const { headers } = authorized(keys.live)
  const body = JSON.stringify({ from: 'hello@example.test', to, subject: 'Hello', text: 'Hi' })
  const response = await fetch(`${url}/api/v1/emails/send`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  })
  return response.json() as Promise<Record<string, unknown>>
}

export function authorized(key: string) {
  return { headers: { authorization: `Bearer ${key}` } }
}
