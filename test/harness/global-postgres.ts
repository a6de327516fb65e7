import type { TestProject } from 'vitest/node'
import { makeTemplate } from './template.ts'
import { startThrowaway } from './throwaway.ts'

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
  const server = ownUrl ? { url: ownUrl, stop: async () => {} } : await startThrowaway()
  const template = await makeTemplate(server.url)
  project.provide('postgresUrl', server.url)
  project.provide('templateDatabase', template.name)
  return async () => {
    if (ownUrl) await template.drop()
    await server.stop()
  }
}
