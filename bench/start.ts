import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { seed } from '../dev/seed.ts'
import { applyMigrations } from '../server/db/migrations.ts'
import { startDatabase } from './load/database.ts'
import { newEncryptionKeys } from './load/product.ts'
import { atMost, median, type Report } from './report.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const STARTS = 9
const BAR_MS = 1_500
/** Clock ticks of `/proc`: Linux reports 100 a second to programs, whatever the kernel uses. */
const TICK_MS = 10

/**
 * Starts of `npm run api` over a database that is there: the time to `ready`, and the CPU time of the API. The first
 * start compiles all modules; the others find them compiled.
 */
export async function run(): Promise<Report> {
  await using database = await startDatabase()
  const encryptionKeys = newEncryptionKeys()
  await applyMigrations(database.url)
  await seed({ databaseUrl: database.url, encryptionKeys, keysFile: join(database.dir, 'keys.json') })
  // Production requires Temporal's address. The start does not wait for Temporal, so no server has to be there.
  const env = {
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: encryptionKeys,
    PORT: '0',
    TEMPORAL_ADDRESS: '127.0.0.1:9',
    NODE_COMPILE_CACHE: join(database.dir, 'compiled'),
  }
  const first = await start(env)
  const starts: Start[] = []
  for (let count = 0; count < STARTS; count++) starts.push(await start(env))
  const all = (figure: keyof Start) => starts.map((each) => each[figure])
  return {
    figures: {
      'ms to ready, first start': first.readyMs,
      "ms of the API's CPU, first start": first.cpuMs,
      'ms to ready, median': median(all('readyMs')),
      'ms to ready, best': Math.min(...all('readyMs')),
      "ms of the API's CPU, median": median(all('cpuMs')),
      "ms of the API's CPU, best": Math.min(...all('cpuMs')),
    },
    bars: [atMost('ms from npm run api to ready, median', median(all('readyMs')), BAR_MS)],
  }
}

interface Start {
  /** From the start of npm to the log line `ready`. */
  readyMs: number
  /** The time of all threads of the API's process. */
  cpuMs: number
}

async function start(env: Record<string, string>): Promise<Start> {
  const { PATH, HOME, NODE_OPTIONS } = process.env
  const before = performance.now()
  const child = spawn('npm', ['run', '--silent', 'api'], {
    cwd: ROOT,
    env: { PATH, HOME, NODE_OPTIONS, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const end = () => process.kill(-child.pid!, 'SIGKILL')
  process.once('exit', end)
  await readyLine(child)
  const readyMs = performance.now() - before
  const cpuMs = cpuMsOf(apiOf(child.pid!))
  console.log(`ready after ${readyMs.toFixed()} ms, ${cpuMs} ms of CPU`)
  process.off('exit', end)
  const gone = once(child, 'exit')
  process.kill(-child.pid!, 'SIGTERM')
  await gone
  return { readyMs, cpuMs }
}

async function readyLine({ stdout }: ChildProcess): Promise<void> {
  for await (const line of createInterface({ input: stdout! })) {
    if (line.includes('"msg":"ready"')) return void stdout!.resume()
  }
  throw new Error('the API ended before it was ready')
}

/** The process at the end of the chain that npm starts. */
function apiOf(pid: number): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return child ? apiOf(Number(child)) : pid
}

/** The 14th and 15th field of proc_pid_stat(5): the time in user mode and in the kernel. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}
