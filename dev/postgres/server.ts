import { chown, mkdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { keeping, stopKept } from '../keeper.ts'
import { freePort, isPostgres, listens } from '../ports.ts'
import { Problem } from '../problem.ts'
import { spawnWithLog } from '../spawn-with-log.ts'
import { postgresBinaries } from './binaries.ts'
import { prepareCluster, USER } from './cluster.ts'
import { postgresUser } from './user.ts'

export interface Postgres {
  /** Connects as the server's superuser. */
  url: string
  /** Resolves when the server has ended, for any reason. */
  gone: Promise<void>
  /** Ends all sessions. Resolves when the server has ended. */
  stop(): Promise<void>
}

const OTHER_STOPS_WITHIN_MS = 1500
/** Long enough for a busy machine. */
const STOPS_WITHIN_MS = 20_000

/**
 * Starts the embedded PostgreSQL on a free port of the loopback interface. Its cluster is `dataDir/postgres`, which
 * the first start creates. With `temporary`, `dataDir` is deleted when the server ends. Throws a Problem when it
 * cannot start.
 */
export async function startPostgres(options: { dataDir: string; temporary?: boolean }): Promise<Postgres> {
  const dataDir = resolve(options.dataDir)
  const cluster = join(dataDir, 'postgres')
  const passwordFile = join(dataDir, 'postgres.password')
  const logFile = join(dataDir, 'postgres.log')
  await mkdir(dataDir, { recursive: true })
  const binaries = await postgresBinaries()
  const user = postgresUser(cluster, [binaries.postgres, ...(options.temporary ? [] : [dataDir])])
  if (options.temporary && user.owner) await chown(dataDir, user.owner.uid, user.owner.gid)
  await waitForOtherServer(cluster)
  await prepareCluster(binaries, user, cluster, passwordFile)

  const ending = options.temporary ? { signal: 'QUIT', remove: dataDir } : { signal: 'INT' }
  const launch = (port: number) => {
    const server = [binaries.postgres, '-D', cluster, ...settings(port)]
    const { file, args, options } = user.command(keeping(server, ending))
    const env = { ...process.env, LC_ALL: 'C' }
    return spawnWithLog([file, ...args], logFile, (log) => ['pipe', log, log], { ...options, env })
  }
  const giveUpAt = Date.now() + STOPS_WITHIN_MS
  for (let tries = 3; ; tries--) {
    const port = await freePort()
    const { child, gone: exit } = await launch(port)
    const gone = exit.then(() => {})
    if (await becomesReady(cluster, port, gone)) {
      const password = await readFile(passwordFile, 'utf8')
      const url = `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`
      return { url, gone, stop: () => stopKept(child, STOPS_WITHIN_MS) }
    }
    const log = await readFile(logFile, 'utf8')
    // Another program took the port before the server could listen on it.
    if (tries > 1 && log.includes('Address already in use')) continue
    // After SIGKILL of a server its child processes end a moment later.
    if (Date.now() < giveUpAt && log.includes('shared memory block')) {
      await sleep(200)
      continue
    }
    throw new Problem(`PostgreSQL did not start. The end of ${logFile}:\n${log.slice(-2000)}`)
  }
}

function settings(port: number): string[] {
  const set = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port, max_connections: 200 }
  return Object.entries(set).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/**
 * Waits until no other server uses the cluster. The keeper of a killed run may be about to stop its server. The
 * children of a killed server hold its port for a while and do not reply. A server that goes on replying is in use: a
 * Problem.
 */
async function waitForOtherServer(cluster: string): Promise<void> {
  for (const startedAt = Date.now(); ; await sleep(50)) {
    const { pid, port, status } = await pidFile(cluster)
    // After a crash of the machine the number may belong to another process.
    if (!pid || !port || !isAlive(pid) || !(await listens(port))) return
    const withinMs = (await isPostgres(port)) ? OTHER_STOPS_WITHIN_MS : STOPS_WITHIN_MS
    if (status === 'stopping' || Date.now() < startedAt + withinMs) continue
    throw new Problem(
      `${cluster} is in use: its PostgreSQL is process ${pid}, on port ${port}.\n` +
        'If another `npm start` runs, stop it with Ctrl-C there, or give this one a folder of its own: DATA_DIR=.verdict/second',
    )
  }
}

/** Resolves to true when the server is ready, to false when it ends before. */
async function becomesReady(cluster: string, port: number, gone: Promise<void>): Promise<boolean> {
  const ended = gone.then(() => true)
  do {
    const file = await pidFile(cluster)
    // A killed server may have left this file: its port and process differ.
    if (file.port === port && file.status === 'ready' && file.pid && isAlive(file.pid)) return true
  } while (!(await Promise.race([ended, sleep(20, false)])))
  return false
}

/** Lines of `postmaster.pid`: process, data directory, start time, port, socket folder, address, memory, status. */
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
