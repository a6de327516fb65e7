import { createBoundedMap } from '../../net/bounded-map.ts'
import { shuffle } from '../../net/shuffle.ts'
import type { Database } from '../db/connect.ts'
import { one, run } from '../db/statement.ts'

// The warm-up of an address: a provider that has never seen it gets few emails from it on the first days. A process
// takes emails of the day ahead, so most sends cost no statement.

/** The most emails to one provider on each UTC day, from the first day on which the address sends there. */
export const ADDRESS_STEPS: readonly number[] = [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000]

/** The share of what is left of a day that a process takes at a time. */
const TAKEN_SHARE = 0.05
const DAY_MS = 86_400_000
/** How long a process remembers that a day is used up, or that an address is warm. */
const REMEMBERED_MS = 60_000
const MAX_REMEMBERED = 100_000

/** Begins the warm-up, or the day. */
export const BEGIN_DAY = `
  insert into address_warm_ups as w (address, provider, started_on, day, emails)
  select $1, $2, day, day, 0 from (select (now() at time zone 'utc')::date as day) as today
  on conflict (address, provider) do update
    set day = excluded.day, emails = case when w.day = excluded.day then w.emails else 0 end
  returning day::text as date, day - started_on as days, emails`

/** Counts emails of the day, unless they are more than are left. */
export const COUNT_EMAILS = `
  update address_warm_ups set emails = emails + $4
  where address = $1 and provider = $2 and day = $3::date and emails + $4 <= $5
  returning emails`

interface Begun {
  date: string
  /** How many days ago it began. */
  days: number
  emails: number
}

interface Allowance {
  /** Emails that were taken and not sent yet; Infinity for an address that is warm. */
  emails: number
  untilMs: number
  /** The day has no more emails. */
  isUsedUp?: boolean
}

export type AddressWarmUp = ReturnType<typeof createAddressWarmUp>

export function createAddressWarmUp(db: Database) {
  const allowances = createBoundedMap<Allowance>({ maxEntries: MAX_REMEMBERED })

  async function take(address: string, provider: string, emails: number): Promise<boolean> {
    const key = `${address} ${provider}`
    const allowance = allowances.get(key)
    const isKnown = allowance && performance.now() < allowance.untilMs
    if (isKnown && allowance.emails >= emails) {
      allowance.emails -= emails
      return true
    }
    if (isKnown && allowance.isUsedUp) return false
    const taken = await takeMore(address, provider, emails)
    allowances.set(key, taken)
    if (taken.emails < emails) return false
    taken.emails -= emails
    return true
  }

  /** Takes emails of today from the database. What was taken is never given back. */
  async function takeMore(address: string, provider: string, emails: number): Promise<Allowance> {
    const begun = one(await run<Begun>(db, BEGIN_DAY, [address, provider]))
    const limit = ADDRESS_STEPS[begun.days]
    const untilMs = performance.now() + Math.min(REMEMBERED_MS, DAY_MS - (Date.now() % DAY_MS))
    if (limit === undefined) return { emails: Infinity, untilMs }
    const wanted = Math.max(emails, Math.floor((limit - begun.emails) * TAKEN_SHARE))
    const counted = await run(db, COUNT_EMAILS, [address, provider, begun.date, wanted, limit])
    return counted.length > 0 ? { emails: wanted, untilMs } : { emails: 0, untilMs, isUsedUp: emails === 1 }
  }

  return {
    /** One of the addresses that may send this number of emails to the provider today, or undefined. */
    async choose(addresses: readonly string[], provider: string, emails: number): Promise<string | undefined> {
      for (const address of shuffle(addresses)) if (await take(address, provider, emails)) return address
      return undefined
    },
  }
}
