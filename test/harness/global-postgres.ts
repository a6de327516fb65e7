import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../dev/postgres/server.ts'
import { makeTemplate } from './template.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A PostgreSQL on which the tests may create and drop databases. */
    postgresUrl: string
    /**
     * The name of a migrated database on that server. Copy it, but never connect to it: a database in use cannot be
     * copied.
     */
    templateDatabase: string
  }
}

/**
 * Provides one server for the whole run: that of TEST_DATABASE_URL, or an embedded one whose files are removed after
 * the run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const ownUrl = process.env.TEST_DATABASE_URL
  const server = ownUrl ? { url: ownUrl, stop: async () => {} } : await startEmbedded()
  const template = await makeTemplate(server.url)
  project.provide('postgresUrl', server.url)
  project.provide('templateDatabase', template.name)
  return async () => {
    if (ownUrl) await template.drop()
    await server.stop()
  }
}

/**
 * Turns `fsync` off: the run discards the files, and with it most of the time to create and drop databases is disk
 * time.
 */
async function startEmbedded() {
  const server = await startPostgres({ dataDir: await mkdtemp(join(tmpdir(), 'verdict-suite-')), temporary: true })
  const admin = postgres(server.url, { max: 1 })
  for (const setting of ['fsync', 'full_page_writes']) await admin.unsafe(`alter system set ${setting} = off`)
  await admin`select pg_reload_conf()`
  await admin.end()
  return server
}
