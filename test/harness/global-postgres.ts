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
    /** The name of a migrated database on that server. Copy it, and never connect to it: a database in use cannot be copied. */
    templateDatabase: string
  }
}

/** One server for the whole run: the server of TEST_DATABASE_URL, or an embedded one that goes with its files when the run ends. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.TEST_DATABASE_URL
  const server = given ? { url: given, stop: async () => {} } : await startEmbedded()
  const template = await makeTemplate(server.url)
  project.provide('postgresUrl', server.url)
  project.provide('templateDatabase', template.name)
  return async () => {
    if (given) await template.drop()
    await server.stop()
  }
}

/** Without `fsync`: the run discards the files, and creating and dropping databases waits for the disk most of the time. */
async function startEmbedded() {
  const server = await startPostgres({ dataDir: await mkdtemp(join(tmpdir(), 'verdict-suite-')), temporary: true })
  const admin = postgres(server.url, { max: 1 })
  for (const setting of ['fsync', 'full_page_writes']) await admin.unsafe(`alter system set ${setting} = off`)
  await admin`select pg_reload_conf()`
  await admin.end()
  return server
}
