import type { Database } from '../db/connect.ts'
import { run } from '../db/statement.ts'

const DAY_MS = 86_400_000

/** A domain's day of warm-up. */
export interface WarmUpDay {
  /** 1 on the UTC day of its verification. */
  day: number
  /** The current UTC day, `2026-01-31`. */
  date: string
  /** Emails that may be sent on it. */
  dailyLimit: number
}

/**
 * Returns the current day of a domain's warm-up; undefined after the last, and for a domain that does not warm up.
 * `steps` are the daily limits, beginning with the first day. `nowMs` is the database's time.
 */
export function warmUpDay(
  { verifiedAt, warmsUp }: { verifiedAt: Date | null; warmsUp: boolean },
  nowMs: number,
  steps: readonly number[],
): WarmUpDay | undefined {
  if (!warmsUp || verifiedAt === null) return undefined
  const daysPassed = Math.max(0, Math.floor(nowMs / DAY_MS) - Math.floor(verifiedAt.getTime() / DAY_MS))
  const dailyLimit = steps[daysPassed]
  if (dailyLimit === undefined) return undefined
  return { day: daysPassed + 1, date: new Date(nowMs).toISOString().slice(0, 10), dailyLimit }
}

export type DailyVolume = (accountId: string, domain: string, date: string) => Promise<number>

export const DAILY_VOLUME = `
  with new_row as (
    insert into warm_ups (account_id, domain, day, emails) values ($1, $2, $3, 0) on conflict do nothing
  )
  select emails from warm_ups where account_id = $1 and domain = $2 and day = $3`

/** Reads how many emails a domain has sent on a day so far. Creates the day's row, which the claims of the day lock. */
export function createDailyVolume(db: Database): DailyVolume {
  return async (accountId, domain, date) => {
    const [row] = await run<{ emails: number }>(db, DAILY_VOLUME, [accountId, domain, date])
    return row?.emails ?? 0
  }
}
