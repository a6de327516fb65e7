import { afterAll, beforeEach, expect, test } from 'vitest'
import { eq, sql } from '../../server/db/drizzle.ts'
import { hourlyStats } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { mergeStatistics } from '../../server/reputation/merge-statistics.ts'
import { waitForHourOf } from '../harness/periods.ts'
import { message, startSendingWorld } from '../sending/world.ts'

// What a commit stores besides the outcome: statistics, and the refusals that count against addresses.

const world = await startSendingWorld({ 'MX gone.org': 'nxdomain' })
afterAll(() => world.stop())
beforeEach(async () => {
  // `counts` expects one hour.
  await waitForHourOf(10_000)
  await run(world.db, 'truncate hourly_stats, suppressions, refusals')
})

const send = (change: Parameters<typeof message>[0] = {}, sandbox = false) =>
  world.sendAlone()(message(change), { accountId: world.account.id, sandbox, signal: new AbortController().signal })

async function counts(ofTenant = '') {
  await world.db.update(hourlyStats).set({ hour: sql`${hourlyStats.hour} - interval '2 hours'` })
  await mergeStatistics(world.db)
  const rows = await world.db.select().from(hourlyStats).where(eq(hourlyStats.tenantId, ofTenant))
  expect(rows).toHaveLength(1)
  const { accountId, tenantId, hour, domain, shard, ...columns } = rows[0]!
  const counted = Object.entries<number>(columns)
  const named = counted.filter(([name, count]) => count > 0 && !name.startsWith('latency'))
  const latencies = counted.reduce((sum, [name, n]) => sum + (name.startsWith('latency') ? n : 0), 0)
  return { domain, ...Object.fromEntries(named), latencies }
}

test('200 concurrent sends are counted 200 times', async () => {
  await Promise.all(Array.from({ length: 200 }, (_, i) => send({ to: [`a${i}@example.net`] })))
  expect(await counts()).toMatchObject({ delivered: 200, latencies: 200 })
})
