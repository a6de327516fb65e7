import { expect, test } from 'vitest'
import type { DatabaseClock } from '../../server/db/clock.ts'
import { contentsOfError, gistOf } from '../../server/errors.ts'
import {
  type CheckContext,
  type CheckedRecipient,
  countedRecipients,
  overQuota,
  overWarmUp,
  quotaAllows,
  warmUpAllows,
} from '../../server/sending/checks.ts'

const clock = { now: () => Date.parse('2026-07-14T23:58:30Z') } as DatabaseClock
const warmUp = { day: 2, date: '2026-07-14', dailyLimit: 50 }
const quota = { month: '2026-07', monthlyLimit: 100, endsAtMs: Date.parse('2026-08-01T00:00:00Z') }

const ann = { kind: 'to', address: { address: 'ann@example.net' } } as CheckedRecipient
const simulated = { ...ann, simulated: { outcome: { status: 'delivered' } } } as CheckedRecipient
const decided = { ...ann, outcome: {} } as CheckedRecipient

test('only recipients without an outcome count, and no simulated ones', () => {
  expect(countedRecipients([ann, simulated, decided, ann])).toBe(2)
})

test.each([
  ['quota', quotaAllows, 100],
  ['warm-up', warmUpAllows, 50],
])('a %s that is used up, or more than that, refuses what counts, and nothing else', async (_, check, limit) => {
  const allows = (sent: number, recipients: CheckedRecipient[]) => {
    const context = { domain: { name: 'example.test' }, warmUp, quota, clock }
    const volumes = { dailyVolume: async () => sent, monthlyVolume: async () => sent }
    return check(recipients, { ...context, ...volumes } as unknown as CheckContext).then(
      () => true,
      () => false,
    )
  }
  expect(await allows(limit - 1, [ann])).toBe(true)
  expect(await allows(limit - 1, [ann, ann])).toBe(false)
  expect(await allows(limit, [ann])).toBe(false)
  expect(await allows(limit + 9, [simulated, decided])).toBe(true)
})

test('such a refusal says when to repeat it, and has words without values of the request', () => {
  const refusals = { quota: overQuota(quota, clock), warmUp: overWarmUp('example.test', warmUp, clock) }
  expect(contentsOfError(refusals.quota).retryAfterSeconds).toBe(17 * 86_400 + 90)
  expect(contentsOfError(refusals.warmUp).retryAfterSeconds).toBe(90)
  expect(gistOf(refusals.quota)).toMatch(/quota of the account/)
  expect(gistOf(refusals.warmUp)).toMatch(/warm-up of the sending domain/)
})
