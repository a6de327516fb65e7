import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir, open, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { keeping, stopKept } from '../keeper.ts'
import { freePort, isPostgres, listens } from '../ports.ts'
import { Problem } from '../problem.ts'
import { postgresBinaries } from './binaries.ts'
import { prepareCluster, USER } from './cluster.ts'
import { postgresUser } from './user.ts'

export interface Postgres {
  /** Connects as the owner of the server. */
  url: string
  /** Resolves when the server is gone, for whatever reason. */
  gone: Promise<void>
  /** Ends all sessions and resolves when the server is gone. */
  stop(): Promise<void>
}

const OTHER_STOPS_WITHIN_MS = 1500
/** On a busy machine. */
const STOPS_WITHIN_MS = 20_000

/**
 * Starts the embedded PostgreSQL on a free port of the loopback interface. Its cluster is `dataDir/postgres`, made when it is not
 * there; `temporary` makes `dataDir` vanish with the server. Throws a Problem for what a person has to settle.
 */
export async function startPostgres(options: { dataDir: string; temporary?: boolean }): Promise<Postgres> {
  const dataDir = resolve(options.dataDir)
  const cluster = join(dataDir, 'postgres')
  const passwordFile = join(dataDir, 'postgres.password')
  await mkdir(dataDir, { recursive: true })
  const binaries = await postgresBinaries()
  const user = postgresUser(cluster, [binaries.postgres, ...(options.temporary ? [] : [dataDir])])
  if (options.temporary && user.owner) await chown(dataDir, user.owner.uid, user.owner.gid)
  await otherServerEnds(cluster)
  await prepareCluster(binaries, user, cluster, passwordFile)

  const ending = options.temporary ? { signal: 'QUIT', remove: dataDir } : { signal: 'INT' }
  const launch = async (port: number) => {
    const server = [binaries.postgres, '-D', cluster, ...settings(port)]
    const { file, args, options } = user.command(keeping(server, ending))
    const log = await open(join(dataDir, 'postgres.log'), 'w', 0o600)
    const env = { ...process.env, LC_ALL: 'C' }
    const keeper = spawn(file, args, { ...options, env, detached: true, stdio: ['pipe', log.fd, log.fd] })
    await log.close()
    return keeper
  }
  const giveUpAt = Date.now() + STOPS_WITHIN_MS
  for (let tries = 3; ; tries--) {
    const port = await freePort()
    const keeper = await launch(port)
    const gone = once(keeper, 'exit').then(() => {})
    if (await becomesReady(cluster, port, gone)) {
      const password = await readFile(passwordFile, 'utf8')
      const url = `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`
      return { url, gone, stop: () => stopKept(keeper, STOPS_WITHIN_MS) }
    }
    const log = await readFile(join(dataDir, 'postgres.log'), 'utf8')
    // Somebody else took the port between our asking and the server's binding.
    if (tries > 1 && log.includes('Address already in use')) continue
    // The children of a server that was killed end a moment after it.
    if (Date.now() < giveUpAt && log.includes('shared memory block')) {
      await sleep(200)
      continue
    }
    throw new Problem(`PostgreSQL did not start. Its last words, in ${dataDir}/postgres.log:\n${log.slice(-2000)}`)
  }
}

function settings(port: number): string[] {
  const set = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port, max_connections: 200 }
  return Object.entries(set).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/**
 * The keeper of a run that was killed may be about to stop its server; a server that still answers is in use. The children of a server
 * that was killed hold its port until they notice, and answer nothing.
 */
async function otherServerEnds(cluster: string): Promise<void> {
  for (const startedAt = Date.now(); ; await sleep(50)) {
    const { pid, port, status } = await pidFile(cluster)
    // After a crash of the machine the number may be another process's by now.
    if (!pid || !isAlive(pid) || !(await listens(port!))) return
    const withinMs = (await isPostgres(port!)) ? OTHER_STOPS_WITHIN_MS : STOPS_WITHIN_MS
    if (status === 'stopping' || Date.now() < startedAt + withinMs) continue
    throw new Problem(
      `${cluster} is in use: its PostgreSQL is process ${pid}, on port ${port}.\n` +
        'If another `npm start` runs, stop it with Ctrl-C there, or give this one a folder of its own: DATA_DIR=.verdict/second',
    )
  }
}

/** False when the server ended instead. */
async function becomesReady(cluster: string, port: number, gone: Promise<void>): Promise<boolean> {
  let ended = false
  gone.then(() => {
    ended = true
  })
  for (; !ended; await sleep(20)) {
    const found = await pidFile(cluster)
    // The file may be the one of a server that was killed: port and process tell them apart.
    if (found.port === port && found.status === 'ready' && isAlive(found.pid!)) return true
  }
  return false
}

/** `postmaster.pid`: process, data directory, start time, port, socket directory, address, shared memory, status; a line each. */
async function pidFile(cluster: string): Promise<{ pid?: number; port?: number; status?: string }> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')
  const lines = text.split('\n').map((line) => line.trim())
  return { pid: Number(lines[0]), port: Number(lines[3]), status: lines[7] }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
