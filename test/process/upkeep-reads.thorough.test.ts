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
import { dropRules, fill, tablesOf } from '../harness/filled-tables.ts'
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

const tables = (await tablesOf(db)).filter((table) => !(table in HISTORY))

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

/** One account has all rows, and none of them is over. */
async function refill(table: string, rows: number, isWhole: boolean): Promise<void> {
  await run(db, `truncate ${table}`)
  await fill(db, table, { rows, isWhole, account: `'00000000-0000-7000-8000-000000000001'::uuid` })
}

async function readBy(table: string): Promise<Map<string, number>> {
  const read = new Map<string, number>()
  for (const [name, task] of Object.entries(TASKS)) {
    const before = await pagesOf(table)
    await task()
    read.set(name, (await pagesOf(table)) - before)
  }
  return read
}

await dropRules(db)
const CASES = tables
  .filter((table) => !READ_WHOLE[table])
  .flatMap((table) => [
    [table, 'with empty columns', false] as const,
    [table, 'whose columns are all filled', true] as const,
  ])

test.each(CASES)('of %s, rows %s cost no task more when there are ten times as many', async (table, _, isWhole) => {
  await refill(table, FEW, isWhole)
  const few = await readBy(table)
  await refill(table, MANY, isWhole)
  for (const [task, pages] of await readBy(table))
    if (!READ_WHOLE[`${table} ${task}`]) expect(pages, task).toBeLessThan(2 * few.get(task)! + PART)
  await run(db, `truncate ${table}`)
})
