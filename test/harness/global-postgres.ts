import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../dev/postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A PostgreSQL on which the tests may create and drop databases. */
    postgresUrl: string
  }
}

/** One server for the whole suite: that of TEST_DATABASE_URL, otherwise an embedded one which is gone, with its files, when the suite ends. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.TEST_DATABASE_URL
  if (given) {
    project.provide('postgresUrl', given)
    return undefined
  }
  const postgres = await startPostgres({ dataDir: await mkdtemp(join(tmpdir(), 'verdict-suite-')), temporary: true })
  project.provide('postgresUrl', postgres.url)
  return postgres.stop
}
