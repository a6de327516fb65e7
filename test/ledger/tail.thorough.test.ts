import { beforeEach, expect, test } from 'vitest'
import { run } from '../../server/db/statement.ts'
import { waitForHourOf } from '../harness/periods.ts'
import { countsIn } from '../sending/statistics.ts'
import { startSendingWorld } from '../sending/world.ts'

// What a commit stores besides the outcome: statistics, and the refusals that count against addresses.

const world = await startSendingWorld({ 'MX gone.org': 'nxdomain' })
beforeEach(async () => {
  // `counts` expects one hour.
  await waitForHourOf(10_000)
  await run(world.db, 'truncate hourly_stats, suppressions, refusals')
})

const { send } = world

test('200 concurrent sends are counted 200 times', async () => {
  await Promise.all(Array.from({ length: 200 }, (_, i) => send({ to: [`a${i}@example.net`] })))
  expect(await countsIn(world)).toMatchObject({ delivered: 200, latencies: 200 })
})
