import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../dev/postgres/server.ts'

export interface BenchDatabase extends AsyncDisposable {
  url: string
  pid: number
  /** A folder that is removed together with the database. */
  dir: string
}

/** Starts an embedded PostgreSQL with an empty database. */
export async function startDatabase(): Promise<BenchDatabase> {
  const dir = await mkdtemp(join(tmpdir(), 'verdict-bench-'))
  const postgres = await startPostgres({ dataDir: dir, temporary: true })
  const pidFile = await readFile(join(dir, 'postgres/postmaster.pid'), 'utf8')
  return { url: postgres.url, pid: Number(pidFile.split('\n')[0]), dir, [Symbol.asyncDispose]: postgres.stop }
}
