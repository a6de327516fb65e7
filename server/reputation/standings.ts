import type { Kind } from '../../mail/smtp/attempt.ts'
import { FairSlots } from '../../net/fair-slots.ts'
import { byTime } from '../async/timeout.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { firstIdAt, timeOfId } from '../db/ids.ts'
import { matchingSql } from '../db/matching-sql.ts'
import { newestRows } from '../db/newest-rows.ts'
import { oldestKeptId } from '../db/retention.ts'
import { inMs, run, UNPREPARED } from '../db/statement.ts'
import { type AddressHistory, type DueEntry, dueEntry, type Refusal } from './incidents.ts'

/** The look-ups of this process at a time, for sends and reports. They must not keep the database from other sends. */
const slots = new FairSlots({ slots: 8, perAccount: 2 })
const AT_MOST_MS = 5_000

const REFUSALS = `
  select email, kind, ${inMs('created_at')} as "atMs"
  from refusals
  where account_id = $1 and tenant_id = $2 and email in (select json_array_elements_text($3::json)) and not in_bad_hour`

const BAD_PROVIDERS = `select provider from bad_hours where ended_at is null`

/**
 * SQL: whether the recipient `r` of the message `m` proves that an address lives: it took the mail, and no late bounce
 * returned that. `address` is SQL, too: the matching form.
 */
export const provesLife = (
  address: string,
): string => `${matchingSql('r.email')} = ${address} and r.status = 'delivered'
      and not m.sandbox and not exists (
        select from feedback f
        where f.message_id = r.message_id and f.kind = 'late_bounce' and not f.is_member
          and ${matchingSql('f.recipient')} = ${address})`

// The newest delivery to each address by any tenant.
export const LAST_DELIVERIES = `
  select given.email, delivered.event_id as "eventId"
  from json_array_elements_text($2::json) as given(email)
  cross join lateral (
    select r.event_id from recipients r join messages m on m.id = r.message_id
    where r.account_id = $1 and r.message_id >= $3 and r.message_id < $4 and m.id >= $3 and m.id < $4
      and r.message_id <> $5::uuid and ${provesLife('given.email')}
    order by r.message_id desc limit 1) as delivered`

/** Addresses that were refused, in their matching form, with what the refusals say. */
export interface Refused {
  accountId: string
  tenantId?: string | null
  /** The message that was refused. It proves nothing about its own recipients. */
  messageId: string
  kinds: ReadonlyMap<string, Kind>
  /** The providers whose servers refused them. A report has none. */
  providers?: ReadonlyMap<string, string>
}

/** What is known of a refused address. */
export interface AddressStanding {
  /** The entry that suppresses it. */
  due?: DueEntry
  /** When the account last delivered to it, in the 90 days before, in Unix milliseconds. */
  lastDeliveredMs?: number
}

/**
 * Which refused addresses are to be suppressed, and for how long. Nothing is known of them where the database does not
 * say in time: the refusals are stored, and count at the next one.
 */
export type FindStandings = (refused: Refused) => Promise<Map<string, AddressStanding>>

type StandingsParts = { db: Database; clock: DatabaseClock }

export function createStandings(parts: StandingsParts): FindStandings {
  return async (refused) => {
    if (refused.kinds.size === 0) return new Map()
    const untilMs = performance.now() + AT_MOST_MS
    const release = await slots.acquire({ accountId: refused.accountId, untilMs })
    try {
      return release ? await byTime(find(parts, refused), untilMs) : new Map()
    } catch {
      return new Map()
    } finally {
      release?.()
    }
  }
}

async function historyOf(
  { db, clock }: StandingsParts,
  { accountId, tenantId, messageId, kinds }: Refused,
  nowMs: number,
) {
  const refused = [accountId, tenantId ?? '', JSON.stringify([...kinds.keys()])]
  const stored = await run<Refusal & { email: string }>(db, REFUSALS, refused)
  const refusalsOf = Map.groupBy(stored, ({ email }) => email)
  const lastDelivered = new Map<string, number>()
  const range = { from: oldestKeptId(clock), below: firstIdAt(nowMs + 1_000) }
  await newestRows(range, kinds.size, async ({ from, below }) => {
    const unproven = [...kinds.keys()].filter((address) => !lastDelivered.has(address))
    const parameters = [accountId, JSON.stringify(unproven), from, below, messageId]
    const found = await run<{ email: string; eventId: string }>(db, LAST_DELIVERIES, parameters, UNPREPARED)
    for (const { email, eventId } of found) lastDelivered.set(email, timeOfId(eventId))
    return found
  })
  return (address: string): AddressHistory => ({
    refusals: refusalsOf.get(address) ?? [],
    lastDeliveredMs: lastDelivered.get(address),
  })
}

async function find(parts: StandingsParts, refused: Refused): Promise<Map<string, AddressStanding>> {
  const nowMs = parts.clock.now()
  const reading = historyOf(parts, refused, nowMs)
  const [history, bad] = await Promise.all([reading, run<{ provider: string }>(parts.db, BAD_PROVIDERS)])
  const standings = Array.from(refused.kinds, ([address, kind]) => {
    const known = history(address)
    const isBadHour = bad.some(({ provider }) => provider === refused.providers?.get(address))
    const due = dueEntry(kind, known, nowMs, { sentMs: timeOfId(refused.messageId), isBadHour })
    return [address, { due, lastDeliveredMs: known.lastDeliveredMs }] as const
  })
  return new Map(standings)
}
