import { expect, test } from 'vitest'
import { RECIPIENT_DOMAINS, REFUSALS, THROTTLED } from '../../dev/demo/mailboxes.ts'
import { endOf } from '../../dev/demo/outcome.ts'
import { createRandom } from '../../dev/demo/random.ts'
import { type PlannedRecipient, planWeek, WEEK_MS } from '../../dev/demo/week.ts'
import { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { reasonNames } from '../../server/db/outcome-names.ts'
import { words } from '../harness/text.ts'

const NOW = Date.parse('2026-01-31T09:30:00Z')
const week = () => planWeek(createRandom(1), NOW)

test('the demo is the same in every run', () => {
  expect(week()).toEqual(week())
})

test('the demo is a week of emails to eight domains under the reserved .example', () => {
  const emails = week()
  expect(emails.length).toBeGreaterThan(2_000)
  for (const { atMs } of emails) {
    expect(atMs).toBeGreaterThanOrEqual(NOW - WEEK_MS)
    expect(atMs).toBeLessThan(NOW)
  }
  const domains = new Set(emails.flatMap(({ recipients }) => recipients.map(({ domain }) => domain.name)))
  expect(domains.size).toBe(8)
  for (const domain of domains) expect(domain).toMatch(/\.example$/)
})

const recipient = (ending: PlannedRecipient['ending']): PlannedRecipient => ({
  name: 'Ada Lee',
  email: 'ada.lee@meadow.example',
  domain: RECIPIENT_DOMAINS[0]!,
  ending,
})

test('the rules of the service read each refusal of the demo as what it is', () => {
  const reasons = [...REFUSALS, THROTTLED].map((refusal) => {
    const { outcome } = endOf(createRandom(1), recipient(refusal))
    expect(outcome).toMatchObject({ status: DeliveryStatus.BOUNCED, smtp: { readAs: expect.any(String) } })
    return reasonNames.name(outcome.reason!)
  })
  expect(reasons).toEqual(
    words(`
    mailbox_does_not_exist mailbox_full spam_blocked temporary_failure policy_block temporary_failure
  `),
  )
})

test('the bounces and complaints of a day of the demo stay below the warnings of the circuit breaker', () => {
  const lastDay = week().filter(({ atMs }) => atMs > NOW - WEEK_MS / 7)
  const hard = lastDay.filter(({ recipients }) => recipients.some(({ ending }) => ending === REFUSALS[0]))
  expect(hard.length / lastDay.length).toBeLessThan(DEFAULT_LIMITS.breaker.bounceWarn)
  expect(lastDay.filter(({ feedback }) => feedback === 'complaint')).toEqual([])
})
