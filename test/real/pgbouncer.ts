import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../dev/ports.ts'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'
import { AS_POSTGRES } from './debian-postgres.ts'

export interface PgBouncer extends Daemon {
  /** Ends the pooler with all its connections, and starts it again on the same port. */
  restart(): Promise<void>
  /** The URL of a database through the pooler. */
  through(url: string): string
}

/**
 * Starts a PgBouncer that gives each transaction another session, in front of the server of this URL. It has fewer
 * sessions than its clients have connections.
 */
export async function startPgBouncer(serverUrl: string, sessions: number): Promise<PgBouncer> {
  const { hostname, port: serverPort, username, password } = new URL(serverUrl)
  const folder = await openFolder('pgbouncer')
  const port = await freePort()
  const users = join(folder, 'users.txt')
  await writeFile(users, `"${username}" "${decodeURIComponent(password)}"\n`)
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${sessions}
max_client_conn = 500
`,
  )
  await Promise.all([chmod(users, 0o644), chmod(file, 0o644)])
  // SIGTERM ends it at once.
  const start = () => startDaemon([...AS_POSTGRES, 'pgbouncer', file], { port })
  let daemon = await start()
  return {
    log: () => daemon.log(),
    async restart() {
      await daemon.stop()
      daemon = await start()
    },
    through(url) {
      const pooled = new URL(url)
      pooled.host = `127.0.0.1:${port}`
      return pooled.href
    },
    stop: () => daemon.stop(),
  }
}
