import { type OperatorLimits, tierOf } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { run } from '../db/statement.ts'

/** An account's quota of the current month. */
export interface MonthQuota {
  /** The first day of the UTC month, `2026-01-01`. */
  month: string
  /** When the month ends, Unix milliseconds. */
  endsAtMs: number
  /** Emails that the account may send in it. */
  monthlyLimit: number
}

/** The UTC month of a time. */
export function monthOf(nowMs: number): Pick<MonthQuota, 'month' | 'endsAtMs'> {
  const now = new Date(nowMs)
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  return { month: new Date(Date.UTC(year, month)).toISOString().slice(0, 10), endsAtMs: Date.UTC(year, month + 1) }
}

/** The quota of an account in a tier; undefined when the tier has none. `nowMs` is the database's time. */
export function monthQuota(
  tier: string | null,
  limits: Pick<OperatorLimits, 'tiers' | 'defaultTier'>,
  nowMs: number,
): MonthQuota | undefined {
  const { emailsPerMonth } = tierOf(limits, tier)
  return emailsPerMonth === undefined ? undefined : { ...monthOf(nowMs), monthlyLimit: emailsPerMonth }
}

export type MonthlyVolume = (accountId: string, month: string) => Promise<number>

export const MONTHLY_VOLUME = `
  with new_row as (
    insert into monthly_emails (account_id, month, emails) values ($1, $2, 0) on conflict do nothing
  )
  select emails from monthly_emails where account_id = $1 and month = $2`

/**
 * Reads how much of its quota an account has used; undefined when its tier has none. `nowMs` is the database's time.
 */
export async function readQuotaUse(
  db: Database,
  limits: Pick<OperatorLimits, 'tiers' | 'defaultTier'>,
  accountId: string,
  nowMs: number,
): Promise<(MonthQuota & { used: number }) | undefined> {
  const { month } = monthOf(nowMs)
  const [row] = await run<{ tier: string | null; used: number }>(db, QUOTA_USE, [accountId, month])
  const quota = monthQuota(row?.tier ?? null, limits, nowMs)
  return quota && { ...quota, used: row?.used ?? 0 }
}

const QUOTA_USE = `
  select a.tier, coalesce(m.emails, 0) as used
  from accounts a left join monthly_emails m on m.account_id = a.id and m.month = $2
  where a.id = $1`

/** Reads how many emails an account has sent in a month so far. Creates the row, which the claims of the month lock. */
export function createMonthlyVolume(db: Database): MonthlyVolume {
  return async (accountId, month) => {
    const [row] = await run<{ emails: number }>(db, MONTHLY_VOLUME, [accountId, month])
    return row?.emails ?? 0
  }
}
