import type { Database } from '../db/connect.ts'

const DAY_MS = 86_400_000

/** Where a domain stands in its warm-up. */
export interface WarmUpDay {
  /** 1 on the UTC day of its verification. */
  day: number
  /** The running UTC day, `2026-01-31`. */
  date: string
  /** Emails that may be sent on it. */
  dailyLimit: number
}

/** `steps` are the emails a day from the first on; after them, and for a domain that does not warm up, undefined. `nowMs` is the database's time. */
export function warmUpDay(
  { verifiedAt, warmsUp }: { verifiedAt: Date | null; warmsUp: boolean },
  nowMs: number,
  steps: readonly number[],
): WarmUpDay | undefined {
  if (!warmsUp || verifiedAt === null) return undefined
  const passed = Math.max(0, Math.floor(nowMs / DAY_MS) - Math.floor(verifiedAt.getTime() / DAY_MS))
  if (passed >= steps.length) return undefined
  return { day: passed + 1, date: new Date(nowMs).toISOString().slice(0, 10), dailyLimit: steps[passed]! }
}

export type DailyVolume = (accountId: string, domain: string, date: string) => Promise<number>

const VOLUME = `
  with made as (
    insert into warm_ups (account_id, domain, day, emails) values ($1, $2, $3, 0) on conflict do nothing
  )
  select emails from warm_ups where account_id = $1 and domain = $2 and day = $3`

/** Emails of a domain on a day so far. Makes the day's row, which the claims of the day lock. */
export function dailyVolume(db: Database): DailyVolume {
  return async (accountId, domain, date) => {
    const [row] = await db.$client.unsafe(VOLUME, [accountId, domain, date], { prepare: true })
    return row?.emails ?? 0
  }
}
