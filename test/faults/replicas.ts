import { execFile } from 'node:child_process'
import { chown, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { expect, vi } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { startProxy } from '../harness/proxy.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { type Server, startServer } from './cluster.ts'

/**
 * Starts two PostgreSQL with the tables: a primary, and a synchronous standby that follows it. `url` names both, the
 * first one first. `test` is where the test itself connects: the current primary.
 */
export async function startReplicas() {
  const first = await startServer()
  await applyMigrations(first.url)
  await change(first, `alter system set synchronous_standby_names = 'standby'`)
  await first.stop()
  const dataDir = temporaryFolder()
  await promisify(execFile)('cp', ['-a', `${first.dataDir}/.`, dataDir])
  await follow(dataDir, first)
  await first.start()
  const second = await startServer(dataDir)
  await waitForStandby(first)

  const front = await startProxy(first.proxy.target)
  const test = at(first, front.port)
  const db = connect(test)
  const secondPort = new URL(second.url).port
  const url = `${first.url.replace(/(:\d+)\//, `$1,127.0.0.1:${secondPort}/`)}?target_session_attrs=read-write`

  /** Promotes a standby. Resolves when it takes writes, which wait for no standby. */
  async function promote(server: Server): Promise<void> {
    await change(server, 'select pg_promote()')
    front.target = server.proxy.target
    front.reset()
  }

  async function drop(): Promise<void> {
    await db.$client.end({ timeout: 1 })
    await front.close()
    await Promise.all([first.drop(), second.drop()])
  }

  return { first, second, url, promote, database: { url: test, db, drop } }
}

/** Makes the stopped server of this folder a standby. */
export async function follow(dataDir: string, primary: Server): Promise<void> {
  const cluster = join(dataDir, 'postgres')
  const { username, password, port } = new URL(primary.url)
  const place = `host=127.0.0.1 port=${port} user=${username} password=${password} application_name=standby`
  const signal = join(cluster, 'standby.signal')
  await writeFile(join(cluster, 'postgresql.auto.conf'), `primary_conninfo = '${place}'\n`)
  await writeFile(signal, '')
  const { uid, gid } = await stat(cluster)
  await chown(signal, uid, gid)
}

async function waitForStandby(primary: Server): Promise<void> {
  await vi.waitFor(async () => {
    const states = await change(primary, 'select sync_state from pg_stat_replication')
    expect(states).toEqual([{ sync_state: 'sync' }])
  }, 20_000)
}

/** Runs a statement as the server's superuser, and makes it reload its settings. */
export async function change(server: Server, statement: string) {
  const sql = postgres(server.url, { max: 1, onnotice: () => {} })
  try {
    const rows = await sql.unsafe(statement)
    await sql`select pg_reload_conf()`
    return [...rows]
  } finally {
    await sql.end()
  }
}

function at(server: Server, port: number): string {
  const url = new URL(server.url)
  url.port = String(port)
  return url.href
}
