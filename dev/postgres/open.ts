import { readDatabaseUrl } from '../../server/config/database-url.ts'
import { startPostgres } from './server.ts'

export interface OpenDatabase {
  url: string
  /** A description for the user. */
  where: string
  /** Resolves to a message for the user when the database ends before `stop` is called. */
  lost: Promise<string>
  stop(): Promise<void>
}

/** Opens the database at `externalUrl`, which `stop` leaves running, or else the embedded one in `dataDir`. */
export async function openDatabase(externalUrl: string | undefined, dataDir: string): Promise<OpenDatabase> {
  if (externalUrl) {
    const { hostname, pathname } = new URL(readDatabaseUrl(externalUrl).url)
    return {
      url: externalUrl,
      where: `${pathname.slice(1)} on ${hostname}`,
      lost: new Promise(() => {}),
      stop: async () => {},
    }
  }
  const postgres = await startPostgres({ dataDir })
  const lost = postgres.gone.then(
    () => `The embedded PostgreSQL ended. ${dataDir}/postgres.log says why; npm start starts it again.`,
  )
  return { url: postgres.url, where: `embedded PostgreSQL in ${dataDir}`, lost, stop: postgres.stop }
}
