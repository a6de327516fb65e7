import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { measure, untilCalm } from './load/cpu.ts'
import { type Product, startProduct } from './load/product.ts'
import { startSink } from './load/sink.ts'
import { atMost, percentile, type Report } from './report.ts'

const CALLS = 40
const WARM_UP_CALLS = 10
const YEAR = 'from=2024-01-01&to=2025-01-01'

/** One query of each kind over a leap year. */
const QUESTIONS: [name: string, query: string][] = [
  ['by the hour', `${YEAR}&granularity=hour&domain=one.test`],
  ['by the hour, tenant', `${YEAR}&granularity=hour&tenant_id=tenant`],
  ['by the day', `${YEAR}&domain=one.test`],
  ['in total', `${YEAR}&granularity=total&domain=one.test`],
  ['by the hour, 5 domains', `${YEAR}&granularity=hour`],
]

/** Statistics over a year in which every hour has counts: whole calls over HTTP, JSON included, one after another. */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink)
  await fillYear(product.databaseUrl)

  const figures: Report['figures'] = {}
  for (const [name, query] of QUESTIONS) {
    await callStats(product, query, WARM_UP_CALLS)
    await untilCalm()
    const { apiPid, postgresPid } = product
    const { result, cpu, foreign } = await measure([[apiPid], [postgresPid]], () => callStats(product, query, CALLS))
    console.log(`${name}: other work took ${(foreign * 100).toFixed(0)} % of the processors meanwhile.`)
    figures[`${name}, p50 ms`] = percentile(result.timesMs, 0.5)
    figures[`${name}, p99 ms`] = percentile(result.timesMs, 0.99)
    figures[`${name}, API CPU ms`] = (cpu[0]! * 1_000) / CALLS
    figures[`${name}, PostgreSQL CPU ms`] = (cpu[1]! * 1_000) / CALLS
    figures[`${name}, KB`] = result.bytes / 1_000
  }
  return { figures, bars: [atMost('a year by the hour, p50 ms', figures['by the hour, p50 ms']!, 50)] }
}

async function callStats({ port, key }: Product, query: string, calls: number) {
  const timesMs: number[] = []
  let bytes = 0
  for (let call = 0; call < calls; call++) {
    const startedAt = performance.now()
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/stats?${query}`, { headers })
    const text = await response.text()
    const { totals } = JSON.parse(text)
    timesMs.push(performance.now() - startedAt)
    if (!(totals?.sent > 8_784)) throw new Error(`${response.status}: ${text.slice(0, 200)}`)
    bytes = text.length
  }
  return { timesMs, bytes }
}

/** Stores 8,784 hours of five domains and a tenant of the product's account, and as many rows of another account. */
async function fillYear(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  const fill = (account: string) => `
    insert into hourly_stats (account_id, tenant_id, hour, domain, delivered, mailbox_full, mailbox_does_not_exist,
      latency_9, latency_10, latency_14)
    select ${account}, tenant, hour, domain, 90 + random() * 100, random() * 10, random() * 5, 60, 40, 20
    from generate_series('2024-01-01Z'::timestamptz, '2024-12-31T23:00Z', interval '1 hour') as hour,
      (
        values ('', 'one.test'), ('', 'two.test'), ('', 'three.test'), ('', 'four.test'), ('', 'five.test'),
          ('tenant', 'one.test')
      ) as kept(tenant, domain)`
  await sql.unsafe(fill(`'${randomUUID()}'`))
  await sql.unsafe(fill('(select account_id from domains limit 1)'))
  await sql`vacuum analyze hourly_stats`
  await sql.end()
}
