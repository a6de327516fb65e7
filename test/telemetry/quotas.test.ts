import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { accounts, monthlyEmails } from '../../server/db/schema.ts'
import { monthOf } from '../../server/reputation/quota.ts'
import { watchQuotas } from '../../server/telemetry/installation.ts'
import { createMetrics } from '../../server/telemetry/metrics.ts'
import { testAccount } from '../harness/account.ts'

const account = await testAccount()

const LIMITS = {
  tiers: { ...DEFAULT_LIMITS.tiers, small: { requestsPerMinute: 60, emailsPerMonth: 100 } },
  defaultTier: 'small',
}

async function shownWith(limits: Parameters<typeof watchQuotas>[2]) {
  const metrics = createMetrics('api')
  watchQuotas(metrics, account.db, limits)
  return (await metrics.snapshot()).quotaAccounts
}

test('accounts that are near their quota of this month, or have used it up, are counted by their tier', async () => {
  const { month } = monthOf(account.clock.now())
  const usage: [tier: string | null, month: string, emails: number][] = [
    ['small', month, 79],
    ['small', month, 80],
    [null, month, 99],
    ['a tier of before', month, 100],
    ['pro', month, 5_000],
    ['small', '2020-01-01', 100],
  ]
  for (const [tier, month, emails] of usage) {
    const id = crypto.randomUUID()
    await account.db.insert(accounts).values({ id, name: 'An account', tier })
    await account.db.insert(monthlyEmails).values({ accountId: id, month, emails })
  }
  expect(await shownWith(LIMITS)).toEqual([
    { labels: ['near'], value: 2 },
    { labels: ['used_up'], value: 1 },
  ])
  expect(await shownWith(DEFAULT_LIMITS)).toEqual([
    { labels: ['near'], value: 0 },
    { labels: ['used_up'], value: 0 },
  ])
})
