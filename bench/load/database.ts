import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { startPostgres } from '../../dev/postgres/server.ts'

export interface BenchDatabase extends AsyncDisposable {
  url: string
  pid: number
  /** The folder of the database, with its log. */
  dir: string
}

export interface DatabaseOptions {
  /** A folder that keeps the database for the next run. */
  keep?: string
  /** A library that the server loads at its start. */
  preload?: string
}

/** Starts an embedded PostgreSQL with an empty database, or with the kept one. */
export async function startDatabase({ keep, preload }: DatabaseOptions = {}): Promise<BenchDatabase> {
  const dir = keep ?? (await mkdtemp(join(tmpdir(), 'verdict-bench-')))
  if (preload !== undefined) await setPreload(dir, preload)
  const server = await startPostgres({ dataDir: dir, temporary: keep === undefined })
  const pidFile = await readFile(join(dir, 'postgres/postmaster.pid'), 'utf8')
  return { url: server.url, pid: Number(pidFile.split('\n')[0]), dir, [Symbol.asyncDispose]: server.stop }
}

async function setPreload(dataDir: string, library: string): Promise<void> {
  const server = await startPostgres({ dataDir })
  const sql = postgres(server.url, { max: 1 })
  await sql.unsafe(`alter system set shared_preload_libraries = '${library}'`)
  await sql.end()
  await server.stop()
}
