import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Postgres, startPostgres } from '../../dev/postgres/server.ts'
import { connect } from '../../server/db/connect.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { startProxy } from '../harness/proxy.ts'

/** A PostgreSQL of one test's own, which can be killed and started again, behind one address that stays. */
export async function startCluster() {
  const dataDir = await mkdtemp(join(tmpdir(), 'verdict-cluster-'))
  let server = await startPostgres({ dataDir })
  const front = await startProxy(placeOf(server))
  const url = new URL(server.url)
  url.port = String(front.port)
  await applyMigrations(url.href)
  const db = connect(url.href)

  /** SIGKILL to the postmaster; its children follow. Nothing can be reached until `start`. */
  async function kill(): Promise<void> {
    const pid = await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')
    front.target = undefined
    process.kill(Number.parseInt(pid, 10), 'SIGKILL')
    await server.gone
  }

  /** Ends all sessions in order, then the server. */
  async function stop(): Promise<void> {
    front.target = undefined
    await server.stop()
  }

  /** Again after `kill` or `stop`; the children of a killed server may need a moment to go. */
  async function start(): Promise<void> {
    for (let tries = 20; ; tries--) {
      try {
        server = await startPostgres({ dataDir })
        break
      } catch (error) {
        if (tries === 0) throw error
        await sleep(250)
      }
    }
    front.target = placeOf(server)
  }

  async function drop(): Promise<void> {
    await db.$client.end({ timeout: 1 })
    await front.close()
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  }

  return { url: url.href, db, front, kill, stop, start, drop }
}

function placeOf({ url }: Postgres) {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}
