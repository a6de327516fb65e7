import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Postgres, startPostgres } from '../../dev/postgres/server.ts'
import { connect } from '../../server/db/connect.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { startProxy } from '../harness/proxy.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { pauseFor } from '../harness/waits.ts'

export type Server = Awaited<ReturnType<typeof startServer>>

/** Starts a PostgreSQL, an empty one by default. It can be killed and started again, and its address stays the same. */
export async function startServer(dataDir = temporaryFolder()) {
  let server = await startPostgres({ dataDir })
  const proxy = await startProxy(addressOf(server))
  const url = new URL(server.url)
  url.port = String(proxy.port)

  /** Sends SIGKILL to the postmaster, and its children end too. The address resets connections until `start`. */
  async function kill(): Promise<void> {
    const pid = await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')
    proxy.target = undefined
    process.kill(Number.parseInt(pid, 10), 'SIGKILL')
    await server.gone
  }

  /** Ends all sessions cleanly, then the server. */
  async function stop(): Promise<void> {
    proxy.target = undefined
    await server.stop()
  }

  /**
   * Starts the server again after `kill` or `stop`. It retries, because the children of a killed server may need a
   * moment to end.
   */
  async function start(): Promise<void> {
    for (let tries = 20; ; tries--) {
      try {
        server = await startPostgres({ dataDir })
        break
      } catch (error) {
        if (tries === 0) throw error
        await pauseFor(250)
      }
    }
    proxy.target = addressOf(server)
  }

  async function drop(): Promise<void> {
    await proxy.close()
    await server.stop()
  }

  return { dataDir, url: url.href, proxy, kill, stop, start, drop }
}

/** Starts a PostgreSQL with the tables for one test. */
export async function startCluster() {
  const server = await startServer()
  await applyMigrations(server.url)
  const db = connect(server.url)
  const drop = async () => {
    await db.$client.end({ timeout: 1 })
    await server.drop()
  }
  return { ...server, db, drop }
}

function addressOf({ url }: Postgres) {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}
