import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { connect, type Database } from '../../server/db/connect.ts'
import { run } from '../../server/db/statement.ts'
import { DAY_ROWS } from '../../server/reputation/counts.ts'
import { sumDays } from '../../server/reputation/day-statistics.ts'
import { mergeStatistics, rollUpDays } from '../../server/reputation/merge-statistics.ts'
import { mergeGroups, rollUpGroups } from '../../server/reputation/open-statistics.ts'
import { eventually } from '../harness/eventually.ts'
import { testDatabase } from '../harness/postgres.ts'
import { atEnd } from '../harness/until-end.ts'

// Statistics are merged for accounts in turn. An account whose rows cannot be merged, or take long, keeps no other one
// waiting. The first account of each test has more hours, and older ones.

const DAY_MS = 86_400_000
const firstKept = () => Math.floor(Date.now() / DAY_MS) * DAY_MS

const HOURS = `
  insert into hourly_stats (account_id, tenant_id, hour, domain, shard, delivered)
  select $1::uuid, '', date_trunc('day', now(), 'UTC') - hours * interval '1 hour', 'example.test', $3::int, 1
  from json_array_elements_text($2::json) as h(text), lateral (select text::int as hours) as n`
const GROUPS = `
  insert into group_stats (account_id, grouped_by, tenant_id, hour, domain, key)
  select $1::uuid, 'tag', '', date_trunc('day', now(), 'UTC') - hours * interval '1 hour', 'example.test', 'a'
  from json_array_elements_text($2::json) as h(text), lateral (select text::int as hours) as n`

type Work = [
  what: string,
  merge: (db: Database) => Promise<unknown>,
  store: (db: Database, accountId: string, hours: number[]) => Promise<unknown>,
  /** Rows of an account that are not merged. */
  open: string,
]

const storeHours = (shard: number) => (db: Database, accountId: string, hours: number[]) =>
  run(db, HOURS, [accountId, JSON.stringify(hours), shard])
const storeGroups = (db: Database, accountId: string, hours: number[]) =>
  run(db, GROUPS, [accountId, JSON.stringify(hours)])

const WORKS: Work[] = [
  ['hours', (db) => mergeStatistics(db), storeHours(1), 'select from hourly_stats where shard <> 0'],
  ['groups', mergeGroups, storeGroups, 'select from group_stats where not is_merged'],
  [
    'hours of days',
    (db) => rollUpDays(db, firstKept()),
    storeHours(0),
    `select from hourly_stats where hour <> date_trunc('day', hour, 'UTC')`,
  ],
  [
    'groups of days',
    (db) => rollUpGroups(db, firstKept()),
    storeGroups,
    `select from group_stats where hour <> date_trunc('day', hour, 'UTC')`,
  ],
]

/** Stores hours of two accounts, and locks a row of the first one. */
async function start([, , store, open]: Work, lockedHour: number, lockMs: number) {
  const { url } = await testDatabase()
  const db = connect(url, { lockMs })
  const holder = postgres(url, { max: 1 })
  atEnd(async () => {
    await holder.end({ timeout: 0 })
    await db.$client.end()
  })
  const [first, other] = [randomUUID(), randomUUID()]
  await store(db, first, [75, 50])
  await store(db, other, [26])
  const table = /from (\w+)/.exec(open)![1]!
  const hour = `date_trunc('day', now(), 'UTC') - ${lockedHour} * interval '1 hour'`
  await holder.unsafe('begin')
  await holder.unsafe(`select from ${table} where account_id = '${first}' and hour = ${hour} for update`)
  const openOf = async (accountId: string) => (await run(db, `${open} and account_id = $1`, [accountId])).count
  return { db, openOf, first, other, letGo: () => holder.end({ timeout: 0 }) }
}

test.each(WORKS)('%s that fail for one account are merged for others', async (...work) => {
  const { db, openOf, first, other } = await start(work, 75, 200)
  await expect(work[1](db)).rejects.toMatchObject({ code: '55P03' })
  expect(await openOf(other)).toBe(0)
  expect(await openOf(first)).toBe(1)
})

test.each(WORKS)('%s of one account that take long let others go first', async (...work) => {
  const { db, openOf, other, letGo } = await start(work, 50, 0)
  const merging = work[1](db)
  await eventually(async () => expect(await openOf(other)).toBe(0))
  await letGo()
  await merging
})

test('days that fail for one account are summed up for others', async () => {
  const { url } = await testDatabase()
  const db = connect(url, { lockMs: 200 })
  const holder = postgres(url, { max: 1 })
  atEnd(async () => {
    await holder.end({ timeout: 0 })
    await db.$client.end()
  })
  const ids = Array.from({ length: 6 }, () => randomUUID())
  for (const id of ids) {
    await run(db, `insert into accounts (id, name) values ($1, 'Test')`, [id])
    await storeHours(0)(db, id, [30])
  }
  await holder.unsafe('begin')
  // Another transaction has written these very rows.
  await holder.unsafe(`
    insert into hourly_stats (account_id, tenant_id, hour, domain, shard)
    select account_id, '${DAY_ROWS}', date_trunc('day', hour, 'UTC'), '', 0 from hourly_stats
    where account_id in ('${ids[0]}', '${ids[3]}')`)
  await expect(sumDays(db)).rejects.toMatchObject({ code: '55P03' })
  const { count } = await run(db, 'select from hourly_stats where tenant_id = $1', [DAY_ROWS])
  expect(count).toBe(4)
})
