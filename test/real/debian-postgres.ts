import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Daemon, eventually, freePort, openFolder, startDaemon } from './daemon.ts'

/** The server requires a password like a production server, so that tests can try a wrong one. */
const PASSWORD = 'of-these-tests'

/** Starts a separate cluster of the newest Debian PostgreSQL that is installed. `url` connects as its superuser. */
export async function startDebianPostgres(): Promise<Daemon & { url: string; version: string }> {
  const [programs] = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => majorOf(b) - majorOf(a))
  if (!programs) throw new Error('There is no PostgreSQL in /usr/lib/postgresql')
  const folder = await openFolder('postgres')
  const data = join(folder, 'data')
  await mkdir(data, { mode: 0o700 })
  run(['chown', 'postgres:postgres', data])
  const asPostgres = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups']
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, PASSWORD)
  run(['chown', 'postgres:postgres', passwordFile])
  const cluster = ['-D', data, '-U', 'postgres', '--locale=C.UTF-8', '--encoding=UTF8', '--no-sync']
  run([...asPostgres, `${programs}/initdb`, ...cluster, '--auth=scram-sha-256', `--pwfile=${passwordFile}`])
  const port = await freePort()
  const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port, max_connections: 200 }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const daemon = await startDaemon([...asPostgres, `${programs}/postgres`, '-D', data, ...options], {
    port,
    signal: 'INT',
  })
  // The server listens before it accepts queries.
  await eventually(async () => daemon.log().includes('ready to accept connections') || undefined)
  const stop = async () => {
    await daemon.stop()
    await rm(folder, { recursive: true })
  }
  const version = run([`${programs}/postgres`, '--version']).trim()
  return { ...daemon, url: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`, version, stop }
}

const majorOf = (programs: string) => Number(/\d+/.exec(programs)?.[0])

function run([command, ...args]: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command!, args, { encoding: 'utf8', cwd: '/' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr}`)
  return stdout
}
