import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { firstIdAt } from '../../server/db/ids.ts'
import { RETENTION_MS } from '../../server/db/retention.ts'
import { type Day, type Owners, rowsOf, statisticsOf, type Table } from './history-rows.ts'

const DAYS = 30
const DAY_MS = 86_400_000
/** Days that are filled at the same time, each over its own connection. */
const LANES = 2

export interface History extends Owners {
  /** How many messages, over 30 days. Each has one event for each recipient. */
  messages: number
  /** Which tables to fill. */
  tables: Table[]
  /** Whether to count the messages in the statistics. */
  counts?: boolean
}

const startOfToday = () => Math.floor(Date.now() / DAY_MS) * DAY_MS

/**
 * Fills the partitions of the last 30 days, today included, which must be empty. Each is loaded without indexes, gets
 * them, and is then attached.
 */
export async function fillHistory(databaseUrl: string, history: History): Promise<void> {
  const perDay = Math.ceil(history.messages / DAYS)
  const days = Array.from({ length: DAYS }, (_, number): Day => {
    const start = startOfToday() - (DAYS - 1 - number) * DAY_MS
    const lengthMs = Math.min(DAY_MS, Date.now() - start)
    return { first: number * perDay, count: perDay, start, stepMs: lengthMs / perDay, isOldest: number === 0 }
  })
  const lane = async () => {
    const sql = await openLane(databaseUrl)
    for (let day = days.shift(); day !== undefined; day = days.shift()) {
      await fillDay(sql, history, day)
      console.log(`${DAYS - days.length} of ${DAYS} days are filled or being filled`)
    }
    await sql.end()
  }
  const startedAt = performance.now()
  await loadFast(databaseUrl, () => Promise.all(Array.from({ length: LANES }, lane)))
  const seconds = (performance.now() - startedAt) / 1_000
  console.log(`${history.messages} messages were stored in ${history.tables.join(', ')} in ${seconds.toFixed(0)} s.`)
}

/** What `fill` returned, from a database that was kept with as many messages, or after it has filled this one. */
export async function fillOnce<Filled>(
  { databaseDir }: { databaseDir: string },
  messages: number,
  fill: () => Promise<Filled>,
): Promise<Filled> {
  const file = join(databaseDir, 'history.json')
  const kept: { messages: number; filled: Filled } | undefined = await readFile(file, 'utf8').then(JSON.parse, () => {})
  if (kept?.messages === messages) return kept.filled
  if (kept) throw new Error(`${databaseDir} has ${kept.messages} messages: choose another folder.`)
  const filled = await fill()
  await writeFile(file, JSON.stringify({ messages, filled }))
  return filled
}

/** Fills the partitions of yesterday, which must be empty. */
export async function fillYesterday(databaseUrl: string, history: History): Promise<void> {
  const count = history.messages
  const start = startOfToday() - DAY_MS
  const sql = await openLane(databaseUrl)
  await fillDay(sql, history, { first: 0, count, start, stepMs: DAY_MS / count, isOldest: false })
  await sql.end()
}

/** Fills a day that is over its 90 days, with as many messages as any other day. */
export async function fillExpiredDay(databaseUrl: string, history: History): Promise<void> {
  const count = Math.ceil(history.messages / DAYS)
  const start = startOfToday() - RETENTION_MS - 2 * DAY_MS
  const sql = await openLane(databaseUrl)
  await fillDay(sql, history, { first: history.messages, count, start, stepMs: DAY_MS / count, isOldest: false })
  await sql.end()
}

async function openLane(databaseUrl: string): Promise<postgres.Sql> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  await sql`set synchronous_commit = off`
  await sql`set maintenance_work_mem = '256MB'`
  await sql`set max_parallel_maintenance_workers = 0`
  return sql
}

/** While the database is filled, a crash of the machine may lose it. */
const WHILE_LOADING = {
  fsync: 'off',
  full_page_writes: 'off',
  max_wal_size: `'8GB'`,
  checkpoint_timeout: `'1h'`,
  autovacuum: 'off',
}

async function loadFast(databaseUrl: string, load: () => Promise<unknown>): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  const set = async (statementOf: (name: string, value: string) => string) => {
    for (const [name, value] of Object.entries(WHILE_LOADING)) await sql.unsafe(statementOf(name, value))
    await sql`select pg_reload_conf()`
  }
  await set((name, value) => `alter system set ${name} = ${value}`)
  await load()
  await set((name) => `alter system reset ${name}`)
  await sql`checkpoint`
  await sql.end()
}

async function fillDay(sql: postgres.Sql, history: History, day: Day): Promise<void> {
  for (const table of history.tables) await fillPartition(sql, table, day.start, rowsOf(table, history, day))
  if (history.counts) await sql.unsafe(statisticsOf(history, day))
}

/**
 * The indexes are made before the partition is attached. Attaching would make them too, but under a lock that makes the
 * other lane wait.
 */
async function fillPartition(sql: postgres.Sql, table: string, start: number, rows: string): Promise<void> {
  const name = `${table}_${new Date(start).toISOString().slice(0, 10).replaceAll('-', '')}`
  await sql.unsafe(`drop table if exists ${name}`)
  await sql.unsafe(`create table ${name} (like ${table} including defaults including constraints)`)
  await sql.unsafe(`insert into ${name} ${rows}`)
  const keys = await sql<{ definition: string }[]>`
    select pg_get_constraintdef(oid) as definition from pg_constraint
    where conrelid = ${table}::regclass and contype = 'p'`
  for (const { definition } of keys) await sql.unsafe(`alter table ${name} add ${definition}`)
  const indexes = await sql<{ definition: string }[]>`
    select pg_get_indexdef(indexrelid) as definition from pg_index
    where indrelid = ${table}::regclass and not indisprimary`
  for (const { definition } of indexes) {
    await sql.unsafe(definition.replace(/ INDEX \S+ ON (ONLY )?\S+ USING/, ` INDEX ON ${name} USING`))
  }
  const bounds = `from ('${firstIdAt(start)}') to ('${firstIdAt(start + DAY_MS)}')`
  await sql.unsafe(`alter table ${table} attach partition ${name} for values ${bounds}`)
  await sql.unsafe(`vacuum (analyze) ${name}`)
}
