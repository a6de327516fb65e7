import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { percentOf } from '../../dashboard/numbers/quantities.ts'
import { figuresOf, rankedReasons } from '../../dashboard/overview/comparison.ts'
import { GetStatsResponseSchema, type StatsTotalsSchema } from '../../gen/verdict/v1/stats_pb.ts'

const stats = (totals: MessageInitShape<typeof StatsTotalsSchema>) => create(GetStatsResponseSchema, { totals })

test('a count is compared in per cent, and a share in points', () => {
  const now = stats({ sent: 1_500, deliveryRate: 0.98, bounceRate: 0.02, complaintRate: 0.0012 })
  const before = stats({ sent: 1_000, deliveryRate: 0.99, bounceRate: 0.01, complaintRate: 0.0012 })
  expect(figuresOf(now, before).map(({ label, value, change, isWorse }) => [label, value, change, isWorse])).toEqual([
    ['Sent', '1,500', '+50 %', false],
    ['Delivered', '98 %', '-1 points', true],
    ['Bounced', '2 %', '+1 points', true],
    ['Complaints', '0.12 %', '0 points', false],
  ])
})

test('what has nothing to be compared with has no change', () => {
  const figures = figuresOf(stats({ sent: 3, deliveryRate: 1, bounceRate: 0, complaintRate: 0 }), stats({ sent: 0 }))
  expect(figures.map(({ value, change }) => [value, change])).toEqual([
    ['3', undefined],
    ['100 %', undefined],
    ['0 %', undefined],
    ['0 %', undefined],
  ])
  expect(figuresOf(stats({ sent: 0 }), stats({ sent: 0 }))[1]!.value).toBe('-')
})

test('shares below one per cent keep two digits', () => {
  expect([0.00049, 0.0051, 0.0151, 0.9999].map(percentOf)).toEqual(['0.05 %', '0.51 %', '1.5 %', '100 %'])
})

test('reasons are ranked, without those that did not occur', () => {
  expect(rankedReasons({ mailbox_full: 2, no_mx_record: 0, policy_block: 5 })).toEqual([
    ['policy_block', 5],
    ['mailbox_full', 2],
  ])
})
