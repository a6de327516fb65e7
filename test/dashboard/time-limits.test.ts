import { createRouterTransport } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { timeLimit, timeLimitOf } from '../../dashboard/time-limits.ts'
import { OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'

test('a read ends after 15 seconds, a change after 30, and a call that waits for others later than a send', () => {
  expect(['GetOverview', 'ListEvents', 'CountEvents'].map(timeLimitOf)).toEqual([15_000, 15_000, 15_000])
  expect(['CreateKey', 'PutWebhook'].map(timeLimitOf)).toEqual([30_000, 30_000])
  expect(timeLimitOf('Send')).toBeGreaterThan(120_000)
})

test('the time limit does not change the answer of a call that ends in time', async () => {
  const transport = createRouterTransport(
    ({ service }) => service(OverviewService, { getSetUp: () => ({ hasKey: true }) }),
    { transport: { interceptors: [timeLimit] } },
  )
  const { message } = await transport.unary(OverviewService.method.getSetUp, undefined, undefined, undefined, {})
  expect(message).toMatchObject({ hasKey: true })
})
