import { startPostgres } from './server.ts'

export interface OpenDatabase {
  url: string
  /** In words for a person. */
  where: string
  /** Resolves to words when it is gone although nobody stopped it. */
  lost: Promise<string>
  stop(): Promise<void>
}

/** The database of `givenUrl`, which is none of ours to stop, or the embedded one in `dataDir`. */
export async function openDatabase(givenUrl: string | undefined, dataDir: string): Promise<OpenDatabase> {
  if (givenUrl) {
    const { hostname, pathname } = new URL(givenUrl)
    return {
      url: givenUrl,
      where: `${pathname.slice(1)} on ${hostname}`,
      lost: new Promise(() => {}),
      stop: async () => {},
    }
  }
  const postgres = await startPostgres({ dataDir })
  const lost = postgres.gone.then(
    () => `The embedded PostgreSQL ended. Its last words are in ${dataDir}/postgres.log; npm start starts it again.`,
  )
  return { url: postgres.url, where: `embedded PostgreSQL in ${dataDir}`, lost, stop: postgres.stop }
}
