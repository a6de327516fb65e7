import fc from 'fast-check'
import { expect, test } from 'vitest'
import { afterCheck, type CheckOutcome, type Standing } from '../../server/domains/verification-schedule.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const START = new Date('2020-11-18T12:00:00Z')
const at = (ms: number) => new Date(START.getTime() + ms)

const ADDED: Standing = { status: 'pending', verifiedAt: null, failingSince: null, nextCheckAt: START }
const VERIFIED: Standing = { status: 'verified', verifiedAt: START, failingSince: null, nextCheckAt: START }

/** The checks of a domain until `untilMs`, each at its due time. */
function walk(from: Standing, untilMs: number, outcome: (ms: number) => CheckOutcome) {
  const checks: { ms: number; standing: Standing }[] = []
  let standing = from
  while (standing.nextCheckAt && standing.nextCheckAt.getTime() <= START.getTime() + untilMs) {
    const now = standing.nextCheckAt
    const ms = now.getTime() - START.getTime()
    standing = afterCheck(standing, outcome(ms), now, at(checks.at(-1)?.ms ?? ms))
    checks.push({ ms, standing })
  }
  return { checks, standing }
}

test.each<CheckOutcome>(['failed', 'unanswered'])(
  'a new domain is checked each minute for ten minutes, every five minutes for a day and hourly for 14 days, and then fails (%s)',
  (outcome) => {
    const { checks, standing } = walk(ADDED, 100 * DAY, () => outcome)
    const times = checks.map(({ ms }) => ms)
    const gaps = times.slice(1).map((ms, i) => ms - times[i]!)
    expect(gaps.slice(0, 10)).toEqual(Array(10).fill(MINUTE))
    expect(gaps.slice(10, -313).every((gap) => gap === 5 * MINUTE)).toBe(true)
    expect(times.at(-313)! / DAY).toBeCloseTo(1, 2)
    expect(gaps.slice(-312).every((gap) => gap === HOUR)).toBe(true)
    expect(times.at(-1)! / DAY).toBeCloseTo(14, 2)
    expect(standing).toEqual({ status: 'failed', verifiedAt: null, failingSince: START, nextCheckAt: null })
    expect(checks.slice(0, -1).every(({ standing }) => standing.status === 'pending')).toBe(true)
  },
)

test('the first check that passes verifies a domain; from then on it is checked daily', () => {
  const { checks } = walk(ADDED, 5 * DAY, (ms) => (ms < 3 * MINUTE ? 'failed' : 'passed'))
  const verified = checks.slice(3)
  expect(checks[2]!.standing.status).toBe('pending')
  expect(verified.map(({ ms }) => ms)).toEqual([0, 1, 2, 3, 4].map((day) => day * DAY + 3 * MINUTE))
  for (const { standing } of verified) {
    expect(standing).toMatchObject({ status: 'verified', verifiedAt: at(3 * MINUTE), failingSince: null })
  }
})

test('a verified domain that fails is checked hourly, and lapses after three days', () => {
  const { checks } = walk(VERIFIED, 4 * DAY, () => 'failed')
  expect(checks.map(({ ms }) => ms / HOUR)).toEqual(checks.map((_, i) => i))
  const lapsed = checks.findIndex(({ standing }) => standing.status === 'lapsed')
  expect(checks[lapsed]!.ms).toBe(3 * DAY)
  expect(checks.slice(0, lapsed).every(({ standing }) => standing.status === 'verified')).toBe(true)
})

test('a check that passes in between restarts the three days', () => {
  const { standing } = walk(VERIFIED, 5 * DAY, (ms) => (ms === 2 * DAY ? 'passed' : 'failed'))
  expect(standing).toMatchObject({ status: 'verified', failingSince: at(3 * DAY) })
})

test('a domain lapses only when it has failed over three days in which it was checked', () => {
  /** The time between two checks: hours in which all is well, and days without a worker or by a clock that jumps. */
  const gap = fc.oneof(fc.integer({ min: MINUTE, max: 2 * HOUR }), fc.integer({ min: 2 * HOUR, max: 30 * DAY }))
  const check = fc.record({ gap, outcome: fc.constantFrom<CheckOutcome>('failed', 'failed', 'failed', 'unanswered') })
  fc.assert(
    fc.property(fc.array(check, { minLength: 1, maxLength: 90 }), (checks) => {
      let [standing, now, failingMs] = [VERIFIED, START, 0]
      for (const { gap, outcome } of checks) {
        const previous = now
        now = new Date(now.getTime() + gap)
        if (standing.failingSince) failingMs += Math.min(gap, 2 * HOUR)
        const isLapsed = standing.status === 'lapsed' || (outcome === 'failed' && failingMs >= 3 * DAY)
        standing = afterCheck(standing, outcome, now, previous)
        expect(standing.status).toBe(isLapsed ? 'lapsed' : 'verified')
      }
    }),
  )
})

test('silence never lapses a domain, however long it lasts', () => {
  const { standing } = walk(VERIFIED, 60 * DAY, () => 'unanswered')
  expect(standing).toMatchObject({ status: 'verified', failingSince: null })
})

test('a domain whose records were wrong before a silence lapses when they are wrong after it', () => {
  const silent = walk(VERIFIED, 4 * DAY, (ms) => (ms === 0 ? 'failed' : 'unanswered'))
  expect(silent.standing).toMatchObject({ status: 'verified', failingSince: START })
  expect(afterCheck(silent.standing, 'failed', at(5 * DAY), at(4 * DAY)).status).toBe('lapsed')
})

test('a lapsed domain that passes is verified again with its first date, and is checked daily after 14 days', () => {
  const { standing } = walk(VERIFIED, 4 * DAY, () => 'failed')
  expect(afterCheck(standing, 'unanswered', at(4 * DAY)).status).toBe('lapsed')
  expect(afterCheck(standing, 'passed', at(4 * DAY))).toEqual({
    status: 'verified',
    verifiedAt: START,
    failingSince: null,
    nextCheckAt: at(5 * DAY),
  })
  expect(afterCheck(standing, 'failed', at(15 * DAY)).nextCheckAt).toEqual(at(16 * DAY))
})

test('a failed domain is checked only on request, which restarts its 14 days', () => {
  const { standing } = walk(ADDED, 100 * DAY, () => 'failed')
  const later = at(50 * DAY)
  expect(afterCheck(standing, 'passed', later)).toMatchObject({ status: 'verified', verifiedAt: later })
  expect(afterCheck(standing, 'failed', later)).toEqual({
    status: 'pending',
    verifiedAt: null,
    failingSince: later,
    nextCheckAt: at(50 * DAY + MINUTE),
  })
})

test('a domain that the operator vouches for stays verified, whatever DNS says', () => {
  const vouched: Standing = { ...VERIFIED, nextCheckAt: null }
  for (const outcome of ['passed', 'failed', 'unanswered'] as const) {
    expect(afterCheck(vouched, outcome, at(10 * DAY))).toEqual(vouched)
  }
})
