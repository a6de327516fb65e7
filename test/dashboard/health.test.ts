import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import { failureToneOf } from '../../dashboard/attempts/endpoint-health.ts'
import { healthOf } from '../../dashboard/overview/health.ts'
import { GetOverviewResponseSchema } from '../../gen/verdict/admin/v1/overview_pb.ts'

test.for([
  [0, false, undefined],
  [0, true, undefined],
  [1, true, 'warning'],
  [2, true, 'warning'],
  [3, true, 'error'],
  [1, false, 'error'],
] as const)(
  '%i failures of an endpoint that has acknowledged before (%s) are shown as %s',
  ([failedSince, hasAcknowledged, tone]) => {
    expect(failureToneOf({ failedSince, hasAcknowledged })).toBe(tone)
  },
)

const NOW = Date.UTC(2026, 10, 22, 12)
const shown = (failedSince: number, acknowledgedMsAgo?: number) =>
  healthOf(
    create(GetOverviewResponseSchema, {
      webhook: {
        url: 'https://hooks.example.com',
        failedSince,
        lastAcknowledgedAt: acknowledgedMsAgo === undefined ? undefined : timestampFromMs(NOW - acknowledgedMsAgo),
      },
    }),
    NOW,
  )

test('the overview names an endpoint that fails from its first failure on', () => {
  expect(shown(0, 5_000)).toMatchObject([{ tone: 'delivered', sentence: 'All good.' }])
  expect(shown(2)).toMatchObject([
    {
      tone: 'error',
      sentence: 'Your webhook endpoint fails: the last 2 attempts failed. It has never acknowledged an event.',
    },
  ])
  expect(shown(1, 60_000)).toMatchObject([
    {
      tone: 'warning',
      sentence: 'Your webhook endpoint fails: the last attempt failed. It last acknowledged an event 1 min ago.',
    },
  ])
})
