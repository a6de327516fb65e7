import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../dev/ports.ts'
import { type Daemon, eventually, openFolder, startDaemon } from './daemon.ts'

/** The server requires a password like a production server, so that tests can try a wrong one. */
const PASSWORD = 'of-these-tests'

export interface DebianPostgres extends Daemon {
  /** Connects as the server's superuser. */
  url: string
  version: string
}

/**
 * Starts a separate cluster of the newest Debian PostgreSQL that is installed. `fill` fills its folder, which is empty
 * and belongs to the user of PostgreSQL; the default is a new cluster.
 */
export async function startDebianPostgres(fill: (data: string) => unknown = initialize): Promise<DebianPostgres> {
  const folder = await openFolder('postgres')
  const data = join(folder, 'data')
  await mkdir(data, { mode: 0o700 })
  runCommand(['chown', 'postgres:postgres', data])
  await fill(data)
  const port = await freePort()
  const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port, max_connections: 200 }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const daemon = await startDaemon([...AS_POSTGRES, programOf('postgres'), '-D', data, ...options], {
    port,
    signal: 'INT',
  })
  // The server listens before it accepts queries.
  await eventually(async () => daemon.log().includes('ready to accept connections') || undefined, 60_000)
  const version = runCommand([programOf('postgres'), '--version']).trim()
  return { ...daemon, url: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`, version }
}

/** Runs a command line as the user of PostgreSQL. */
export const AS_POSTGRES = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups']

/** The path of a program of the newest PostgreSQL. */
export function programOf(name: string): string {
  const [programs] = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => majorOf(b) - majorOf(a))
  if (!programs) throw new Error('There is no PostgreSQL in /usr/lib/postgresql')
  return join(programs, name)
}

const majorOf = (programs: string) => Number(/\d+/.exec(programs)?.[0])

/** A new cluster. */
export async function initialize(data: string): Promise<void> {
  const passwordFile = `${data}.password`
  await writeFile(passwordFile, PASSWORD)
  runCommand(['chown', 'postgres:postgres', passwordFile])
  const cluster = ['-D', data, '-U', 'postgres', '--locale=C.UTF-8', '--encoding=UTF8', '--no-sync']
  runCommand([...AS_POSTGRES, programOf('initdb'), ...cluster, '--auth=scram-sha-256', `--pwfile=${passwordFile}`])
}

function runCommand([command, ...args]: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command!, args, { encoding: 'utf8', cwd: '/' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr}`)
  return stdout
}
