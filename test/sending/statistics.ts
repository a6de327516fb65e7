import { expect } from 'vitest'
import { eq, sql } from '../../server/db/drizzle.ts'
import { hourlyStats } from '../../server/db/schema.ts'
import { mergeStatistics } from '../../server/reputation/merge-statistics.ts'
import type { World } from './world.ts'

/** What was counted within an hour, for the account or a tenant. */
export async function countsIn(world: World, ofTenant = '') {
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
