import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { dropExpired } from '../server/db/drop-expired.ts'
import { firstIdAt, publicId } from '../server/db/ids.ts'
import { createReaders, measureLists, type Readers } from './lists.ts'
import { fillExpiredDay, fillHistory, fillOnce, type History } from './load/history.ts'
import { STORED } from './load/history-rows.ts'
import { startHttpLoad } from './load/http.ts'
import { pacedSends } from './load/paced-sends.ts'
import { startPosts } from './load/posts.ts'
import { type Product, startProduct } from './load/product.ts'
import { callInTurn } from './load/reads.ts'
import { type Sink, startSink } from './load/sink.ts'
import { type SendRound, sendsOf } from './load/timed-sends.ts'
import { playPairs, ratio } from './pairs.ts'
import { atMost, median, percentile, type Report, type RunOptions } from './report.ts'

const MESSAGES = 1_000_000
const ROUNDS = 7
/** Sends in flight, and the sends of a round. */
const LOADS = [
  { inFlight: 64, requests: 2_500 },
  { inFlight: 1, requests: 400 },
]
const MOST_RATIO = 1.15
const MOST_READ_MS = 50
const MOST_SEND_MS = 100
/** While partitions are dropped and vacuumed. */
const SENDS_PER_SECOND = 100
const QUIET_S = 5
const DAY_MS = 86_400_000
const TABLES: History['tables'] = ['messages', 'recipients', 'events', 'dispatches', 'attempts']
const OPEN_TABLES = ['open_messages', 'open_recipients', 'open_dispatches', 'hourly_stats', 'idempotency_keys']

/**
 * A product with a month of history of 200 accounts, half of it of the one that sends, against an empty one: sends, all
 * that reads history, a day that is dropped and a vacuum while sends run. `size` is the number of messages; `keep`
 * keeps the filled database.
 */
export async function run({ size = MESSAGES, keep }: RunOptions): Promise<Report> {
  await using sink = await startSink()
  await using full = await startProduct(sink, { keep })
  const { history, readers } = await fillOnce(full, size, () => fill(full, size))
  const { figures, bars } = await compareSends(full, sink)
  const read = await measureReads(full, readers)
  const beside = await measureUpkeep(full, history)
  return {
    figures: { ...figures, ...read.figures, ...beside },
    bars: [...bars, ...read.bars, ...Object.entries(beside).map(([name, value]) => atMost(name, value, MOST_SEND_MS))],
  }
}

async function fill({ databaseUrl }: Product, size: number) {
  const { owners, readers } = await createReaders(databaseUrl)
  const history: History = { ...owners, messages: size, tables: TABLES, counts: true }
  await fillHistory(databaseUrl, history)
  return { history, readers }
}

async function compareSends(full: Product, sink: Sink): Promise<Report> {
  await using empty = await startProduct(sink)
  await using http = await startHttpLoad()
  const [sendFull, sendEmpty] = [sendsOf(full, http), sendsOf(empty, http)]
  for (const send of [sendFull, sendEmpty]) await send({ inFlight: 64, requests: 2_000 })
  const report: Report = { figures: {}, bars: [] }
  for (const load of LOADS) {
    console.log(`${load.inFlight} in flight`)
    const pairs = await playPairs(
      () => sendFull(load),
      () => sendEmpty(load),
      'empty',
      ROUNDS,
    )
    const figure = (name: string) => `${load.inFlight} in flight: ${name}`
    const middle = (side: 'ours' | 'theirs', name: keyof SendRound) => median(pairs.map((pair) => pair[side][name]))
    for (const [side, database] of [['ours', 'full'] as const, ['theirs', 'empty'] as const]) {
      report.figures[figure(`p50 ms, ${database}`)] = middle(side, 'p50Ms')
      report.figures[figure(`p99 ms, ${database}`)] = middle(side, 'p99Ms')
      report.figures[figure(`CPU us, ${database}`)] = middle(side, 'cpuMicros')
      report.figures[figure(`PostgreSQL CPU us, ${database}`)] = middle(side, 'postgresCpuMicros')
    }
    const p99 = median(pairs.map(({ ours, theirs }) => ours.p99Ms / theirs.p99Ms))
    report.bars.push(atMost(figure('p99 of a send relative to empty'), p99, MOST_RATIO))
    report.bars.push(atMost(figure('CPU of a send relative to empty'), ratio(pairs, 'cpuMicros'), MOST_RATIO))
  }
  return report
}

/** Every list, the statistics, and single emails and events of each day. */
async function measureReads(product: Product, readers: Readers): Promise<Report> {
  const { figures } = await measureLists(product, readers)
  for (const [name, paths] of Object.entries({ ...statistics(), ...(await singles(product)) })) {
    await callInTurn(product, paths)
    const timesMs = [...(await callInTurn(product, paths)), ...(await callInTurn(product, paths))]
    figures[`${name}, p50 ms`] = percentile(timesMs, 0.5)
    figures[`${name}, p95 ms`] = percentile(timesMs, 0.95)
  }
  const p95 = Object.entries(figures).filter(([name]) => name.endsWith('p95 ms'))
  const slowest = p95.toSorted(([, a], [, b]) => b - a)
  console.log(
    `the slowest reads: ${slowest
      .slice(0, 5)
      .map(([name, ms]) => `${name} ${ms.toFixed(1)}`)
      .join('; ')}`,
  )
  return { figures, bars: p95.map(([name, value]) => atMost(name, value, MOST_READ_MS)) }
}

function statistics(): Record<string, string[]> {
  const day = (daysAgo: number) => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10)
  const month = `/stats?from=${day(29)}&to=${day(-1)}`
  const queries = {
    'statistics by the hour': `${month}&granularity=hour`,
    'statistics by the hour, domain': `${month}&granularity=hour&domain=${STORED.domains.common}`,
    'statistics by the hour, tenant': `${month}&granularity=hour&tenant_id=${STORED.tenants.some}`,
    'statistics by the day': month,
    'statistics in total': `${month}&granularity=total`,
  }
  return Object.fromEntries(Object.entries(queries).map(([name, path]) => [name, Array(20).fill(path)]))
}

/** An email and its event of each day. */
async function singles({ databaseUrl }: Product): Promise<Record<string, string[]>> {
  const sql = postgres(databaseUrl, { max: 1 })
  const [messages, events]: string[][] = [[], []]
  for (let daysAgo = 0; daysAgo < 30; daysAgo++) {
    const [from, to] = [firstIdAt(Date.now() - (daysAgo + 1) * DAY_MS), firstIdAt(Date.now() - daysAgo * DAY_MS)]
    const [row] = await sql`
      select e.id, e.message_id from events e join domains d on d.account_id = e.account_id
      where e.id >= ${from} and e.id < ${to} order by e.id limit 1`
    messages!.push(`/emails/${publicId('msg', row!.message_id)}`)
    events!.push(`/events/${publicId('evt', row!.id)}`)
  }
  await sql.end()
  return { 'Get email': messages!, 'Get event': events! }
}

/** The longest send beside each kind of upkeep, and beside none. */
async function measureUpkeep(product: Product, history: History): Promise<Record<string, number>> {
  const { databaseUrl } = product
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  await using posts = await startPosts()
  const second = { events: SENDS_PER_SECOND, perSecond: SENDS_PER_SECOND }
  const longestBeside = async (work: () => Promise<unknown>) => {
    let isWorking = true
    const ended = work().finally(() => {
      isWorking = false
    })
    const timesMs: number[] = []
    do {
      timesMs.push(...(await pacedSends(posts, product, second)))
    } while (isWorking)
    await ended
    console.log(`${timesMs.length} sends, p99 ${percentile(timesMs, 0.99).toFixed(1)} ms`)
    return Math.max(...timesMs)
  }

  const alone = await longestBeside(() => sleep(QUIET_S * 1_000))
  await fillExpiredDay(databaseUrl, { ...history, counts: false })
  const dropping = await longestBeside(async () => {
    const dropped = await dropExpired(databaseUrl)
    if (dropped.length !== TABLES.length) throw new Error(`Dropped ${dropped.join()}`)
  })
  const yesterday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')
  const tables = [...OPEN_TABLES, ...TABLES.map((table) => `${table}_${yesterday}`)]
  const vacuuming = await longestBeside(async () => {
    for (const table of tables) await sql.unsafe(`vacuum (freeze, analyze, disable_page_skipping) ${table}`)
  })
  await sql.end()
  return {
    'longest send without upkeep, ms': alone,
    'longest send while a day is dropped, ms': dropping,
    'longest send beside a vacuum, ms': vacuuming,
  }
}
