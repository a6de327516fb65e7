import { mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { type Postgres, startPostgres } from '../../dev/postgres/server.ts'

/** Starts an embedded server whose files are removed when it stops. */
export async function startThrowaway(): Promise<Postgres> {
  const dataDir = await mkdtemp(join(await fastFolder(), 'verdict-suite-'))
  const server = await startPostgres({ dataDir, temporary: true })
  await turnFsyncOff(server.url)
  return server
}

const MEMORY = '/dev/shm'
/** A run was seen to take 3 GB. */
const NEEDED_OCTETS = 6 * 1024 ** 3

/**
 * Memory, where there is enough. A database has 600 files: to create one takes 20 ms of a processor in memory, and 100
 * to 300 ms on a disk.
 */
async function fastFolder(): Promise<string> {
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize >= NEEDED_OCTETS ? MEMORY : tmpdir()
}

/**
 * Turns `fsync` off in a server whose files are discarded after the run. Otherwise every test waits for the disk when
 * another one drops its database, because PostgreSQL then makes a checkpoint.
 */
export async function turnFsyncOff(url: string): Promise<void> {
  const admin = postgres(url, { max: 1 })
  for (const setting of ['fsync', 'full_page_writes']) await admin.unsafe(`alter system set ${setting} = off`)
  await admin`select pg_reload_conf()`
  await admin.end()
}
