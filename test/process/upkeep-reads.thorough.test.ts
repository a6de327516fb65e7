import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { connect } from '../../server/db/connect.ts'
import { HISTORY } from '../../server/db/schema.ts'
import { one, run } from '../../server/db/statement.ts'
import { isCheckDue } from '../../server/domains/verification.ts'
import { sweep } from '../../server/ledger/sweep.ts'
import { leaseDue } from '../../server/notices/due-notices.ts'
import { findNotices } from '../../server/notices/find-notices.ts'
import { UPKEEP } from '../../server/process/upkeep.ts'
import { keepBadHours } from '../../server/reputation/bad-hours.ts'
import { addUpOpen } from '../../server/reputation/open-statistics.ts'
import { findRefusingProviders } from '../../server/reputation/refusing-providers.ts'
import type { Task } from '../../server/telemetry/tasks.ts'
import { keepHandingOver } from '../../server/webhooks/queue/hand-over.ts'
import { resumeReplays } from '../../server/webhooks/replays/range-replays.ts'
import { testDatabase } from '../harness/postgres.ts'

// What regular work reads does not grow with the rows that it leaves alone, so one account's rows delay no other's.

const { url } = await testDatabase()
/** One session, which counts what it reads. */
const db = connect(url, { connections: 1, statementMs: 0 })

const workflows = {
  maxGroup: 50,
  start: async () => {},
  closed: async () => [],
  terminatedSince: async () => [],
  cancel: async () => {},
  retryNow: async () => {},
  startReplay: async () => {},
}

/** A pass of the hand-over. */
let handOver = async () => {}
keepHandingOver({
  db,
  workflows,
  scheduleMs: [0, 60_000],
  report() {},
  wrap(pass) {
    handOver = pass
    return async () => {}
  },
}).stop()
// The first pass of a worker looks at all dispatches.
await handOver()

const TASKS: Record<Exclude<Task, 'partitions' | 'retention'>, () => Promise<unknown>> = {
  async upkeep() {
    for (const work of UPKEEP) await work(db)
  },
  statistics: () => addUpOpen(db),
  bad_hours: () => keepBadHours(db, DEFAULT_LIMITS.breaker),
  refusing_providers: () => findRefusingProviders(db),
  sweep: () => sweep(db),
  async notices() {
    await findNotices(db, { hasMail: true })
    await leaseDue(db, 1_000)
  },
  hand_over: () => handOver(),
  resume_replays: () => resumeReplays(db, workflows),
  verification: () => isCheckDue(db),
}

/** Why a task may read all rows of a table. */
const READ_WHOLE: Record<string, string> = {
  accounts: 'an account has one row',
  receipt_keys: 'no account makes one',
  bad_hours: 'no account makes one',
  domains: 'an account has 1,000 at most',
  open_messages: 'sends in flight',
  open_stats: 'all are taken',
  refusals: 'those of the last hour',
  provider_minutes: 'those of the last hour',
  refusing_providers: 'a provider has one',
  'open_dispatches notices': 'the notification has their number',
}

interface Column {
  table: string
  name: string
  type: string
  nullable: boolean
  isUnique: boolean
}

const columns = await run<Column>(
  db,
  `select c.relname as "table", a.attname as name, format_type(a.atttypid, null) as type,
     not a.attnotnull as nullable, exists (
       select from pg_index i where i.indrelid = c.oid and i.indisunique and a.attnum = any(i.indkey::int2[])
     ) as "isUnique"
   from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
   order by c.relname, a.attnum`,
)
const tables = Map.groupBy(
  columns.filter(({ table }) => !(table in HISTORY)),
  ({ table }) => table,
)

/** Rows need not make sense: what is measured is how they are found. */
async function dropRules(): Promise<void> {
  const rules = await run<{ table: string; rule: string }>(
    db,
    `select conrelid::regclass::text as "table", conname as rule from pg_constraint
     where contype in ('f', 'c') and conparentid = 0 and connamespace = 'public'::regnamespace`,
  )
  for (const { table, rule } of rules) await run(db, `alter table ${table} drop constraint if exists ${rule}`)
  for (const table of tables.keys()) await run(db, `alter table ${table} disable trigger all`)
}

const ENDS = /^(expires_at|until|lease_until|retires_at|due_at|deadline_at|next_check_at)$/
const ACCOUNT = `'00000000-0000-7000-8000-000000000001'::uuid`
const UNIQUE_ID = `(lpad(to_hex((extract(epoch from now() - interval '50 minutes') * 1000)::int8), 12, '0')
  || '7' || lpad(to_hex(i), 19, '0'))::uuid`

/** SQL: the value of a column in row `i`. One account has all rows, and none of them is over. */
function sqlValue({ name, type, isUnique }: Column): string {
  if (name === 'account_id') return ACCOUNT
  if (ENDS.test(name)) return `now() + interval '1 day' + i * interval '1 us'`
  if (type === 'uuid') return isUnique || name === 'message_id' ? UNIQUE_ID : ACCOUNT
  // An hour of statistics that is over is merged.
  if (name === 'hour') return 'now()'
  if (type.startsWith('timestamp')) return `now() - interval '50 minutes'`
  if (type === 'date') return 'now()::date'
  if (type === 'boolean') return 'false'
  if (/int|numeric|double|real/.test(type)) return isUnique ? 'i' : '1'
  if (type === 'bytea') return `decode(md5(i::text), 'hex')`
  if (type.startsWith('json') || type.endsWith('[]')) return `'{}'`
  return isUnique ? `'x' || i` : `'x'`
}

async function fill(table: string, rows: number, isWhole: boolean): Promise<void> {
  await run(db, `truncate ${table}`)
  const filled = tables.get(table)!.filter(({ name, nullable }) => isWhole || !nullable || name === 'account_id')
  await run(
    db,
    `insert into ${table} (${filled.map(({ name }) => `"${name}"`)}) select ${filled.map(sqlValue)}
     from generate_series(1, ${rows}) i on conflict do nothing`,
  )
  await run(db, `analyze ${table}`)
}

/** How many pages of a table and its indexes this session has read. */
async function pagesOf(table: string): Promise<number> {
  await run(db, 'select pg_stat_force_next_flush()')
  const read = `select (heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0))::float8 as pages
    from pg_statio_user_tables where relname = '${table}'`
  return one(await run<{ pages: number }>(db, read)).pages
}

const FEW = 2_000
const MANY = 20_000
/** A part of a table at which a round looks is 128 pages. */
const PART = 150

async function readBy(table: string): Promise<Map<string, number>> {
  const read = new Map<string, number>()
  for (const [name, task] of Object.entries(TASKS)) {
    const before = await pagesOf(table)
    await task()
    read.set(name, (await pagesOf(table)) - before)
  }
  return read
}

await dropRules()
const CASES = [...tables.keys()]
  .filter((table) => !READ_WHOLE[table])
  .flatMap((table) => [
    [table, 'with empty columns', false] as const,
    [table, 'whose columns are all filled', true] as const,
  ])

test.each(CASES)('of %s, rows %s cost no task more when there are ten times as many', async (table, _, isWhole) => {
  await fill(table, FEW, isWhole)
  const few = await readBy(table)
  await fill(table, MANY, isWhole)
  for (const [task, pages] of await readBy(table))
    if (!READ_WHOLE[`${table} ${task}`]) expect(pages, task).toBeLessThan(2 * few.get(task)! + PART)
  await run(db, `truncate ${table}`)
})
