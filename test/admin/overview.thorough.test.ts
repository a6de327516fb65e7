import { randomBytes } from 'node:crypto'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { createServiceImplSpec } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { Granularity } from '../../gen/verdict/v1/stats_pb.ts'
import { createOverviewService } from '../../server/admin/overview.ts'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { LATENCY_COLUMNS } from '../../server/db/latency-buckets.ts'
import { readOn } from '../../server/db/replicas.ts'
import { STATISTICS_DAYS } from '../../server/db/retention.ts'
import { run } from '../../server/db/statement.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { createBreaker } from '../../server/reputation/breaker.ts'
import { DAY_ROWS } from '../../server/reputation/counts.ts'
import { sumDays } from '../../server/reputation/day-statistics.ts'
import { mergeStatistics } from '../../server/reputation/merge-statistics.ts'
import { testAccount } from '../harness/account.ts'
import { waitForHourOf } from '../harness/periods.ts'
import { startDashboard } from '../harness/person.ts'
import { HOSTS } from '../services/api.ts'

const DOMAINS = 20
const DAY_MS = 86_400_000
const CALLS = 15

/** Every hour of every domain has outcomes of several reasons, in fifteen buckets of latency. */
const BUSY = LATENCY_COLUMNS.slice(5, 20)
const COUNT_HOURS = `
  insert into hourly_stats (account_id, tenant_id, hour, domain, delivered, mailbox_full, mailbox_does_not_exist,
    complaints, in_doubt, connection_timeout, ${BUSY})
  select $1::uuid, '', hour, 'domain-' || domain || '.test', 150, 5, 4, 1, 1, 2, ${BUSY.map(() => 10)}
  from generate_series(date_trunc('hour', now()) - $2::int * interval '1 day', now(), interval '1 hour') as hour,
    generate_series(0, $3::int - 1) as domain`

const COUNT_DAYS = 'select count(*)::int as days from hourly_stats where account_id = $1 and tenant_id = $2'
const COUNT_SHARD = `
  insert into hourly_stats (account_id, tenant_id, hour, domain, shard, delivered)
  values ($1, '', date_trunc('day', now(), 'UTC') - interval '40 hours', 'late.test', 1, 5)`

await waitForHourOf(60_000)
const account = await testAccount()
const { db, clock, accountId } = account
const sealer = createSealer([{ id: 'k1', key: randomBytes(32) }])
for (let i = 0; i < DOMAINS; i++) {
  await createDomain({ db, sealer, clock }, { accountId, name: `domain-${i}.test`, status: 'pending' })
}
await run(db, COUNT_HOURS, [accountId, STATISTICS_DAYS, DOMAINS])
await run(db, 'vacuum analyze hourly_stats')
const breaker = createBreaker({ db, limits: DEFAULT_LIMITS })
const service = createOverviewService({ ...account, read: readOn(db), breaker, limits: DEFAULT_LIMITS, hosts: HOSTS })
const services = [createServiceImplSpec<typeof OverviewService>(OverviewService, service)]
const dashboard = await startDashboard({ ...account, services })
const overview = (await dashboard.person({ accountId })).client(OverviewService)

const range = (days: number, granularity: Granularity) => {
  const toMs = Math.floor(account.clock.now())
  return { from: timestampFromMs(toMs - days * DAY_MS), to: timestampFromMs(toMs), granularity }
}

test('days that are summed up show what their hours show, whoever sums them up and however often', async () => {
  const { db, accountId } = account
  const before = await overview.getOverview(range(STATISTICS_DAYS, Granularity.DAY))
  await Promise.all([sumDays(db), sumDays(db)])
  await sumDays(db)
  const rows = await run(db, COUNT_DAYS, [accountId, DAY_ROWS])
  // A day is summed up when it has been over for an hour.
  const isYesterdayOpen = new Date(account.clock.now()).getUTCHours() === 0
  expect(rows).toEqual([{ days: STATISTICS_DAYS - (isYesterdayOpen ? 1 : 0) }])
  expect(await overview.getOverview(range(STATISTICS_DAYS, Granularity.DAY))).toEqual(before)
  // What is sent today is in no row of a day yet.
  await run(db, 'update hourly_stats set delivered = delivered + 7 where hour = (select max(hour) from hourly_stats)')
  const { periods } = await overview.getOverview(range(3, Granularity.DAY))
  expect(periods.at(-1)!.delivered).toBe(before.periods.at(-1)!.delivered + 7 * DOMAINS)
})

test('a day is summed up when all of its hours are merged', async () => {
  const { db, clock } = account
  const { id } = await createAccount(db, clock, 'Late')
  await run(db, COUNT_SHARD, [id])
  await sumDays(db)
  expect(await run(db, COUNT_DAYS, [id, DAY_ROWS])).toEqual([{ days: 0 }])
  await mergeStatistics(db)
  await sumDays(db)
  expect(await run(db, COUNT_DAYS, [id, DAY_ROWS])).toEqual([{ days: 1 }])
})

// The limits leave room for other work on the machine. The figures are printed.
test.each([
  ['1 day by the hour', 1, Granularity.HOUR, 100],
  ['30 days by the hour', 30, Granularity.HOUR, 200],
  ['30 days by the day', 30, Granularity.DAY, 150],
  [`${STATISTICS_DAYS} days by the day`, STATISTICS_DAYS, Granularity.DAY, 300],
])('an account with 20 domains sees its last %s at once', async (name, days, granularity, mostMs) => {
  const times: number[] = []
  for (let call = 0; call < CALLS; call++) {
    const startedMs = performance.now()
    const { periods } = await overview.getOverview(range(days, granularity))
    times.push(performance.now() - startedMs)
    expect(periods.every(({ delivered }) => delivered > 0)).toBe(true)
  }
  const [best] = times.sort((a, b) => a - b)
  console.log(`${name}: p50 ${times[CALLS >> 1]!.toFixed(0)} ms, best ${best!.toFixed(0)} ms`)
  expect(best).toBeLessThan(mostMs)
})
