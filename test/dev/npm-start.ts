import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { expect } from 'vitest'
import { type RunningProcess, startProgram, waitForOutput } from '../harness/process.ts'

export interface NpmStart {
  /** A folder for further files of the test. */
  folder: string
  dataDir: string
  readyFile: string
  start(env?: NodeJS.ProcessEnv, command?: string[]): RunningProcess
  /** Starts npm start and waits until it is ready. */
  startAndWait(env?: NodeJS.ProcessEnv, command?: string[]): Promise<{ program: RunningProcess; ready: Ready }>
  /** The address of its PostgreSQL. */
  databaseUrl(): Promise<string>
  /** Starts a send that takes three seconds. Resolves once it is claimed, with what will be its response, or `cut`. */
  openSend(ready: Ready): Promise<{ response: Promise<unknown> }>
  /** Ends every npm start of the test. */
  stop(): Promise<void>
  /** The id of the first of its processes whose id and command line match the pattern. */
  pidOf(pattern: RegExp): Promise<number>
  /**
   * Expects that no process runs that was started for its folder: API, worker, PostgreSQL, Temporal or their keepers.
   */
  expectNoProcess(withinMs?: number): Promise<void>
  remove(): Promise<void>
}

/** The content of the ready file. */
export interface Ready {
  url: string
  dashboard_url: string
  temporal_ui_url: string
  keys: { live: string; test: string }
  pid: number
}

/** Prepares `npm start` on free ports, with a separate folder. */
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
  const databaseUrl = async () => JSON.parse(await readFile(join(dataDir, 'database.json'), 'utf8')).url as string
  return {
    folder,
    dataDir,
    readyFile,
    start,
    databaseUrl,
    async startAndWait(env, command) {
      const program = start(env, command)
      await waitForOutput(program, /^ready .*\n/m)
      return { program, ready: JSON.parse(await readFile(readyFile, 'utf8')) }
    },
    async openSend(ready) {
      const sql = postgres(await databaseUrl(), { max: 1 })
      // A send of an earlier start may be open still.
      const before = (await sql`select id from open_messages`).map(({ id }) => id)
      const response = send(ready, 'connection_timeout@simulator.test').catch(() => 'cut')
      const openSends = () => sql`select id from open_messages where id <> all(${before})`
      await expect.poll(openSends, { interval: 50 }).toHaveLength(1)
      await sql.end()
      return { response }
    },
    async stop() {
      for (const program of running.splice(0)) await program.kill('SIGTERM')
    },
    async pidOf(pattern) {
      const match = (await processesOf(dataDir)).find((process) => pattern.test(process))
      return Number.parseInt(match ?? '', 10)
    },
    async expectNoProcess(withinMs = 15_000) {
      await expect.poll(() => processesOf(dataDir), { timeout: withinMs }).toEqual([])
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** The id and the command line of each process with this DATA_DIR. */
async function processesOf(dataDir: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const read = (pid: string, file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
  const matches = pids.map(async (pid) => {
    const isMatch = (await read(pid, 'environ')).split('\0').includes(`DATA_DIR=${dataDir}`)
    return isMatch ? [`${pid} ${(await read(pid, 'cmdline')).replaceAll('\0', ' ')}`] : []
  })
  return (await Promise.all(matches)).flat()
}

export const namespacesOf = (uiUrl: string) =>
  fetch(`${uiUrl}/api/v1/namespaces`).then(
    (response) => response.text(),
    () => 'nothing',
  )

export async function send({ url, keys }: { url: string; keys: { live: string } }, to: string) {
  const { headers } = authorization(keys.live)
  const body = JSON.stringify({ from: 'hello@example.test', to, subject: 'Hello', text: 'Hi' })
  const response = await fetch(`${url}/api/v1/emails/send`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  })
  return response.json() as Promise<Record<string, unknown>>
}

export function authorization(key: string) {
  return { headers: { authorization: `Bearer ${key}` } }
}
