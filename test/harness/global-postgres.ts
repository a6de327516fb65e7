import { mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../dev/postgres/server.ts'
import { makeTemplate } from './template.ts'
import { turnFsyncOff } from './throwaway.ts'

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

async function startEmbedded() {
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
