import { connect, type Database } from '../server/db/connect.ts'
import { run as query } from '../server/db/statement.ts'
import { configure } from './load/endpoints.ts'
import { startHttpLoad } from './load/http.ts'
import { type Product, startProduct } from './load/product.ts'
import { startReceiver } from './load/receiver.ts'
import { expectDelivered, sendRun } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { until } from './load/until.ts'
import type { Report } from './report.ts'

const MESSAGES = 1_000
const IN_FLIGHT = 16

const MEASURE = `
  select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal,
    (select sum(pg_total_relation_size(oid))::float8 from pg_class
      where relkind = 'r' and relnamespace = current_schema()::regnamespace) as stored,
    (select count(*)::int from open_dispatches) as waiting`

interface Measured {
  wal: number
  stored: number
  waiting: number
}

/**
 * What a send leaves on the disk of PostgreSQL and in its write-ahead log: without a webhook endpoint, with one that
 * acknowledges, and with stored content. Each message has 4 KB of text and one recipient.
 */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using receiver = await startReceiver()
  await using http = await startHttpLoad()
  const figures: Record<string, number> = {}

  async function note(name: string, product: Product): Promise<void> {
    const db = connect(product.databaseUrl, { connections: 1 })
    const sends = () => http.ask(sendRun(product, { connections: IN_FLIGHT, requests: MESSAGES }))
    // The first rows pay for the first pages of each table and index.
    expectDelivered(await sends())
    const before = await settled(db)
    expectDelivered(await sends())
    const after = await settled(db)
    figures[`${name}: stored bytes per message`] = (after.stored - before.stored) / MESSAGES
    figures[`${name}: WAL bytes per message`] = (after.wal - before.wal) / MESSAGES
    await db.$client.end()
  }

  {
    await using product = await startProduct(sink)
    await note('without an endpoint', product)
    await configure(product, 'PUT', receiver.url('disk'))
    await note('with an endpoint', product)
  }
  await using product = await startProduct(sink, { env: { STORE_CONTENT: 'true' } })
  await note('with stored content', product)
  return { figures, bars: [] }
}

/** Waits until no event waits for its attempt. */
async function settled(db: Database): Promise<Measured> {
  const measured = async () => (await query<Measured>(db, MEASURE))[0]!
  await until('no event waits', async () => (await measured()).waiting === 0)
  await query(db, 'checkpoint')
  return measured()
}
