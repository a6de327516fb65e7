import { testDatabase } from './postgres.ts'
import { startProxy } from './proxy.ts'
import { untilEnd } from './until-end.ts'

/** A database for one test, with a TCP proxy in front of it. `url` leads through the proxy, `database.url` does not. */
export async function proxiedDatabase() {
  const database = await testDatabase()
  const url = new URL(database.url)
  const proxy = untilEnd(await startProxy({ host: url.hostname, port: Number(url.port) }))
  url.port = String(proxy.port)
  return { database, proxy, url }
}
