import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { eq, sql } from '../../server/db/drizzle.ts'
import { hourlyStats } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { OTHER_TENANTS } from '../../server/reputation/counts.ts'
import { mergeStatistics, rollUpDays } from '../../server/reputation/merge-statistics.ts'
import { readStatistics } from '../../server/reputation/statistics.ts'
import { testDatabase } from '../harness/postgres.ts'

const HOUR_MS = 3_600_000

const database = await testDatabase()

const COUNT_HOUR = `
  insert into hourly_stats (account_id, tenant_id, hour, domain, shard, delivered)
  select $1::uuid, name, date_trunc('hour', now(), 'UTC') - $2::int * interval '1 hour', 'example.test', shard, delivered
  from json_to_recordset($3::json) as t(name text, delivered int), unnest(array[1, 2]) as shard
  returning (extract(epoch from hour) * 1000)::float8 as "hourMs"`

/**
 * Counts an hour of an account as commits do: in shards, for the account and for each tenant. Returns when the hour
 * began. Hours are merged five minutes after their end, so the last one may still be left alone.
 */
async function countHour(
  accountId: string,
  hoursAgo: number,
  tenants: { name: string; delivered: number }[],
): Promise<number> {
  const counts = JSON.stringify([...tenants, { name: '', delivered: 100 }])
  const [row] = await run<{ hourMs: number }>(database.db, COUNT_HOUR, [accountId, hoursAgo, counts])
  return row!.hourMs
}

const tenant = (i: number) => ({ name: `tenant-${i}`, delivered: i })

async function deliveredOf(accountId: string, hourMs: number, tenantId?: string) {
  const query = { accountId, from: hourMs, to: hourMs + HOUR_MS, stepMs: HOUR_MS, tenantId }
  const { delivered, isIncomplete } = await readStatistics(database.db, query)
  return { delivered, isIncomplete }
}

const rowsOf = (accountId: string) =>
  database.db
    .select({ delivered: sql<number>`delivered` })
    .from(hourlyStats)
    .where(eq(hourlyStats.accountId, accountId))

test('once an hour is over, each tenant has one row of it, and no count is lost', async () => {
  const accountId = randomUUID()
  const hourMs = await countHour(accountId, 2, [1, 2, 3].map(tenant))
  await mergeStatistics(database.db)
  expect(await rowsOf(accountId)).toHaveLength(4)
  expect(await deliveredOf(accountId, hourMs)).toEqual({ delivered: 200, isIncomplete: false })
  expect(await deliveredOf(accountId, hourMs, 'tenant-2')).toEqual({ delivered: 4, isIncomplete: false })
})

test('the tenants with the most emails keep their own rows, the others share one, and the statistics say so', async () => {
  const accountId = randomUUID()
  const hourMs = await countHour(
    accountId,
    3,
    Array.from({ length: 50 }, (_, i) => tenant(i + 1)),
  )
  await mergeStatistics(database.db, 10)
  expect(await rowsOf(accountId)).toHaveLength(1 + 10 + 1)
  expect(await deliveredOf(accountId, hourMs)).toEqual({ delivered: 200, isIncomplete: false })
  expect(await deliveredOf(accountId, hourMs, 'tenant-41')).toEqual({ delivered: 82, isIncomplete: true })
  expect(await deliveredOf(accountId, hourMs, 'tenant-40')).toEqual({ delivered: 0, isIncomplete: true })
  const total = (await rowsOf(accountId)).reduce((sum, row) => sum + row.delivered, 0)
  expect(total).toBe(2 * (100 + (50 * 51) / 2))
})

test('an hour with more rows than one statement takes is merged, by however many processes at once', async () => {
  const accountId = randomUUID()
  const hourMs = await countHour(
    accountId,
    4,
    Array.from({ length: 15_000 }, (_, i) => tenant(i + 1)),
  )
  await Promise.all([1, 2, 3].map(() => mergeStatistics(database.db)))
  await mergeStatistics(database.db)
  expect(await rowsOf(accountId)).toHaveLength(1 + 1_000 + 1)
  expect(await deliveredOf(accountId, hourMs, 'tenant-15000')).toEqual({ delivered: 30_000, isIncomplete: true })
})

test('the current hour is not merged: commits still count in it', async () => {
  const accountId = randomUUID()
  await countHour(accountId, 0, [1, 2, 3].map(tenant))
  await mergeStatistics(database.db, 1)
  expect(await rowsOf(accountId)).toHaveLength(8)
})

const COUNT_DOUBT = `
  insert into hourly_stats (account_id, tenant_id, hour, domain, shard, delivered, in_doubt)
  select $1::uuid, tenant, date_trunc('hour', now(), 'UTC') - interval '5 hours', 'example.test', shard, delivered, 1
  from (values ('', 100), ('a', 3), ('b', 2), ('c', 1)) as t(tenant, delivered), unnest(array[1, 2]) as shard`

test('emails in doubt are kept when shards and tenants are merged', async () => {
  const accountId = randomUUID()
  await run(database.db, COUNT_DOUBT, [accountId])
  await mergeStatistics(database.db, 1)
  const rows = await database.db
    .select({ tenant: hourlyStats.tenantId, inDoubt: sql<number>`in_doubt` })
    .from(hourlyStats)
    .where(eq(hourlyStats.accountId, accountId))
    .orderBy(hourlyStats.tenantId)
  expect(new Map(rows.map(({ tenant, inDoubt }) => [tenant, inDoubt]))).toEqual(
    new Map([
      ['', 2],
      ['a', 2],
      [OTHER_TENANTS, 4],
    ]),
  )
})

test('the hours of an old day become one row for each tenant and domain, and sums over days stay exact', async () => {
  const accountId = randomUUID()
  const day = Date.parse('2026-05-04T00:00Z')
  const insert = `
    insert into hourly_stats (account_id, tenant_id, hour, domain, delivered, mailbox_full)
    select $1::uuid, tenant, hour, domain, 10, 1
    from generate_series(to_timestamp($2::float8 / 1000), to_timestamp($2::float8 / 1000) + interval '47 hours', '1 hour') as hour,
      unnest(array['', 'a', 'b', 'c']) as tenant, unnest(array['one.test', 'two.test']) as domain`
  await run(database.db, insert, [accountId, day])
  const read = (tenantId?: string) =>
    readStatistics(database.db, { accountId, from: day, to: day + 48 * HOUR_MS, stepMs: 24 * HOUR_MS, tenantId })
  const before = [await read(), await read('a')]

  expect(await rollUpDays(database.db, day + 24 * HOUR_MS)).toBe(1)
  expect([await read(), await read('a')]).toEqual(before)
  expect(await rowsOf(accountId)).toHaveLength(8 + 8 * 24)
  expect(await rollUpDays(database.db, day + 24 * HOUR_MS)).toBe(0)

  // On the second day only one tenant keeps its own row.
  expect(await rollUpDays(database.db, day + 48 * HOUR_MS, 1)).toBe(1)
  expect(await read()).toEqual(before[0])
  expect(await read('a')).toEqual({ ...before[1], isIncomplete: true })
  expect(await rowsOf(accountId)).toHaveLength(8 + 6)
})
