import { beforeEach, expect, test } from 'vitest'
import { DEFAULT_LIMITS, type OperatorLimits } from '../../server/config/limits.ts'
import { idempotencyKeys, monthlyEmails, warmUps } from '../../server/db/schema.ts'
import { gistOf, reasonOf } from '../../server/errors.ts'
import { type Claim, createClaim } from '../../server/ledger/claim.ts'
import { sweep } from '../../server/ledger/sweep.ts'
import { createMonthlyVolume, monthOf, monthQuota } from '../../server/reputation/quota.ts'
import { newClaim } from '../harness/claim.ts'
import { resultOf, retryAfterOf, testLimit, todayIn, untilLocked } from './volume.ts'
import { message, startSendingWorld } from './world.ts'

const QUOTA = 3_000
/** Without a warm-up, so that the quota alone decides. */
const LIMITS: OperatorLimits = {
  ...DEFAULT_LIMITS,
  warmUp: [],
  tiers: { ...DEFAULT_LIMITS.tiers, small: { requestsPerMinute: 60, emailsPerMonth: QUOTA } },
  defaultTier: 'small',
}

const world = await startSendingWorld({ 'MX gone.org': 'nxdomain' })
beforeEach(async () => {
  await world.db.delete(monthlyEmails)
  await world.db.delete(warmUps)
})

const { options } = world
const month = () => monthOf(world.clock.now()).month
const sentThisMonth = async () => (await world.db.select().from(monthlyEmails))[0]?.emails ?? 0
async function used(emails: number): Promise<void> {
  await world.db
    .insert(monthlyEmails)
    .values({ accountId: world.account.id, month: month(), emails })
    .onConflictDoUpdate({ target: [monthlyEmails.accountId, monthlyEmails.month], set: { emails } })
}
const sender = () => world.sendAlone({ limits: LIMITS })

test('quota: it is that of the tier, from the first day of the UTC month to its end', () => {
  const at = (time: string) => monthQuota(null, LIMITS, Date.parse(time))
  expect(at('2026-01-31T23:59:59.999Z')).toEqual({
    month: '2026-01-01',
    endsAtMs: Date.parse('2026-02-01T00:00:00Z'),
    monthlyLimit: QUOTA,
  })
  expect(at('2026-12-01T00:00:00Z')).toMatchObject({ month: '2026-12-01', endsAtMs: Date.parse('2027-01-01') })
  expect(monthQuota('pro', LIMITS, 0)).toBeUndefined()
})

test('quota: a message that would exceed it is 429 as a whole, and says how many and when the month ends', async () => {
  await used(QUOTA - 1)
  const sentAtMs = world.clock.now()
  const error = await sender()(message({ to: ['a@example.net', 'b@example.net'] }), options()).catch((error) => error)
  expect(reasonOf(error)).toBe('rate_limit_exceeded')
  const { endsAtMs } = monthOf(world.clock.now())
  expect(error.rawMessage).toContain('3000 emails a month')
  expect(error.rawMessage).toContain(`${new Date(endsAtMs).toISOString().slice(0, 10)} 00:00 UTC`)
  expect(gistOf(error)).toBe('The monthly quota of the account was used up.')
  const seconds = retryAfterOf(error)
  const left = (atMs: number) => Math.ceil((endsAtMs - atMs) / 1_000)
  expect(seconds).toBeLessThanOrEqual(left(sentAtMs))
  expect(seconds).toBeGreaterThanOrEqual(left(world.clock.now()))
  expect(await resultOf(sender()(message({ to: ['a@example.net'] }), options()))).toBe('delivered')
  expect(await sentThisMonth()).toBe(QUOTA)
})

test('quota: the simulator needs none, also when more than it is used', async () => {
  await used(QUOTA + 5)
  expect(await resultOf(sender()(message({ to: ['delivered@simulator.test'] }), options()))).toBe('delivered')
  expect(await sentThisMonth()).toBe(QUOTA + 5)
})

test('quota: an account without one sends, and nothing is counted', async () => {
  expect(await resultOf(world.sendAlone()(message(), options()))).toBe('delivered')
  expect(await world.db.$count(monthlyEmails)).toBe(0)
})

testLimit('quota', {
  world,
  most: QUOTA,
  parts: { limits: LIMITS },
  elsewhere: (db) => ({ monthlyVolume: createMonthlyVolume(db) }),
  blind: { monthlyVolume: async () => 0 },
  used,
  sent: sentThisMonth,
  claiming: (copies) => ({ quota: { month: month(), monthlyLimit: 500, copies } }),
  over: 'over_quota',
  crashed: () => ({ quotaMonth: month(), quotaEmails: 7 }),
})

interface Share {
  emails: number
  day?: number
  key?: string
}

/** A claim of emails. Among claims of the same number, those with a larger `i` are admitted later. */
function claimOf({ emails, day, key }: Share, i: number): Claim {
  return newClaim({
    accountId: world.account.id,
    leaseMs: 0,
    createdAtMs: world.clock.now() + i,
    to: Array.from({ length: emails }, () => 'ann@example.net'),
    warmUp: day === undefined ? undefined : { day: todayIn(world), dailyLimit: day, copies: emails },
    quota: { month: month(), monthlyLimit: 500, copies: emails },
    key: key === undefined ? undefined : { scope: 'send/live', key, requestHash: '00' },
  })
}
const claimAll = (shares: Share[]) => {
  const claim = createClaim(world.db)
  // The first is claimed alone, and those that wait for it are claimed together.
  return Promise.all(shares.map((share, i) => claim(claimOf(share, i))))
}

test('quota: a claim without a row of the month fails, and one that is claimed with it does not', async () => {
  const claim = createClaim(world.db)
  const key = { scope: 'send/live', key: 'beside', requestHash: '00' }
  // The first is claimed alone, and the others together.
  const claims = [claimOf({ emails: 1 }, 0), claimOf({ emails: 1 }, 1), newClaim({ leaseMs: 0, key })]
  const [, missing, other] = await Promise.allSettled(claims.map(claim))
  expect(missing).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('monthly_emails') } })
  expect(other).toEqual({ status: 'fulfilled', value: 'claimed' })
  await sweep(world.db)
})

test('quota: beside a warm-up each limit holds, and a message that one of them refuses takes nothing of the other', async () => {
  await used(490)
  const row = { accountId: world.account.id, domain: 'example.test', day: todayIn(world) }
  await world.db.insert(warmUps).values({ ...row, emails: 0 })
  expect(
    await claimAll([
      { emails: 1, day: 4 },
      // The day has 3 left, the month 9: the first of these takes 2 of both.
      { emails: 2, day: 4 },
      { emails: 3, day: 4 },
      { emails: 4 },
      { emails: 5 },
    ]),
  ).toEqual(['claimed', 'claimed', 'over_warm_up', 'claimed', 'over_quota'])
  expect(await sentThisMonth()).toBe(497)
  expect(await world.db.select().from(warmUps)).toMatchObject([{ emails: 3 }])
  await sweep(world.db)
  expect(await sentThisMonth()).toBe(490)
  expect(await world.db.select().from(warmUps)).toMatchObject([{ emails: 0 }])
})

test('quota: a claim and a return lock the quota after the warm-up and before any key', async () => {
  await used(100)
  await world.db
    .insert(warmUps)
    .values({ accountId: world.account.id, domain: 'example.test', day: todayIn(world), emails: 0 })
  const claiming = (key: string) => claimAll([{ emails: 1, day: 10, key }])
  await world.db.$client.begin(async (holding) => {
    await holding`select from warm_ups for update`
    const claimed = claiming('first')
    await untilLocked(world.db)
    expect(await holding`select from monthly_emails for update skip locked`).toHaveLength(1)
    return { claimed }
  })
  await expect.poll(sentThisMonth).toBe(101)
  await world.db.$client.begin(async (holding) => {
    await holding`select from monthly_emails for update`
    const swept = sweep(world.db)
    await untilLocked(world.db)
    expect(await holding`select from idempotency_keys for update skip locked`).toHaveLength(1)
    return { swept }
  })
  await expect.poll(() => world.db.$count(idempotencyKeys)).toBe(0)
  expect(await sentThisMonth()).toBe(100)
})
