import type { BreakerLimits } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { one, run, UNPREPARED } from '../db/statement.ts'
import { type BreakerReading, transitionOf } from './breaker-rules.ts'
import { changeState } from './breaker-state.ts'
import { COMPLAINTS, HARD_BOUNCES, REPORT_SHARD, SENT } from './counts.ts'
import { BAD_HOUR_DAYS } from './incidents.ts'

// The bad hour of a mailbox provider: it refuses addresses as unknown that took mail before, as a large provider did to
// everybody for hours. What it says of mailboxes then counts for little.

/** How long what a provider says is looked at. */
export const BAD_HOUR_MINUTES = 60
/** It begins with this many unknown addresses that took mail before, and more than this share of this many outcomes. */
const LIVING_ADDRESSES = 5
const LEAST_OUTCOMES = 50
const SHARE = 0.1
/** Refusals in one commit. */
const STEP = 1_000

// Outcomes are in one of the two tables at any time: see open-statistics.ts.
const CHANGES = `
  with unknown as materialized (
    select provider, count(*) as refused, count(distinct email) filter (where proof_of_life) as living
    from refusals
    where kind = 'unknown' and provider <> '' and created_at > now() - interval '${BAD_HOUR_MINUTES} minutes'
    group by provider
  ),
  bad as materialized (select * from unknown where living >= ${LIVING_ADDRESSES}),
  outcomes as (
    select provider, sum(outcomes) as outcomes from (
      select provider, outcomes from provider_minutes
      where minute > now() - interval '${BAD_HOUR_MINUTES} minutes' and provider in (select provider from bad)
      union all
      select provider, 1 from open_stats
      where minute > now() - interval '${BAD_HOUR_MINUTES} minutes' and provider in (select provider from bad)
        and status in ('delivered', 'bounced')
    ) as counted
    group by provider
  ),
  ended as (
    update bad_hours set ended_at = now()
    where ended_at is null and provider not in (select provider from bad)
    returning provider
  ),
  begun as (
    insert into bad_hours (id, provider, began_at)
    select gen_random_uuid(), provider, now()
    from bad join outcomes using (provider)
    where outcomes >= ${LEAST_OUTCOMES} and refused > outcomes * ${SHARE}
    on conflict (provider) where ended_at is null do nothing
    returning provider
  )
  select provider, true as "isBegin" from begun union all select provider, false from ended`

// The next refusals that no longer count, with what they made: entries for good, and counts of the breaker. A refusal
// has the time of its entry, and of its count. Its message says which domain it counts for.
const DISCOUNT = `
  with found as materialized (
    select r.event_id, r.account_id, r.tenant_id, r.email, r.created_at
    from refusals r join bad_hours b on b.provider = r.provider
    where r.kind = 'unknown' and not r.in_bad_hour
      and r.created_at > b.began_at - interval '${BAD_HOUR_MINUTES} minutes'
      and r.created_at <= coalesce(b.ended_at, 'infinity') and coalesce(b.ended_at, now()) > now() - interval '2 hours'
    limit ${STEP} for update of r skip locked
  ),
  discounted as (
    update refusals r set in_bad_hour = true from found f where r.event_id = f.event_id
  ),
  shortened as (
    update suppressions s set expires_at = s.created_at + interval '${BAD_HOUR_DAYS} days'
    from found f
    where s.account_id = f.account_id and s.tenant_id = f.tenant_id and s.email = f.email and s.reason = 'bounce'
      and s.created_at = f.created_at
      and (s.expires_at is null or s.expires_at > s.created_at + interval '${BAD_HOUR_DAYS} days')
  ),
  uncounted as materialized (
    select f.account_id, m.domain, date_trunc('hour', f.created_at, 'UTC') as hour, count(*)::int as bounces
    from found f join events e on e.id = f.event_id join messages m on m.id = e.message_id
    group by 1, 2, 3
  ),
  hourly as (
    insert into hourly_stats as kept (account_id, tenant_id, hour, domain, shard, uncounted_late_bounces)
    select account_id, '', hour, domain, ${REPORT_SHARD}, bounces from uncounted order by 1, 4, 3
    on conflict (account_id, tenant_id, hour, domain, shard) do update set
      uncounted_late_bounces = kept.uncounted_late_bounces + excluded.uncounted_late_bounces
  )
  select account_id as "accountId", domain, (select count(*)::int from found) as found
  from (select distinct account_id, domain from uncounted union all select null, null) as changed`

const OPEN_BREAKERS = `
  select b.account_id as "accountId", b.domain, b.state, b.changed_at as "changedAt", b.cause, 0 as "waitSeconds",
    coalesce(sum(${SENT}), 0)::int as copies, coalesce(sum(${HARD_BOUNCES}), 0)::int as bounces,
    coalesce(sum(${COMPLAINTS}), 0)::int as complaints
  from json_to_recordset($1::json) as given("accountId" uuid, domain text)
  join breakers b on b.account_id = given."accountId" and b.domain = given.domain
  left join hourly_stats s on s.account_id = b.account_id and s.tenant_id = '' and s.domain = b.domain
    and s.hour >= date_trunc('hour', now(), 'UTC') - interval '23 hours'
  where b.state <> 'closed' and b.cause = 'bounces'
  group by b.account_id, b.domain`

/** Only one process looks at a time. */
const LOCK = `select pg_try_advisory_xact_lock(hashtext('verdict bad hours')) as "isMine"`

export interface BadHourChange {
  provider: string
  /** Whether its bad hour begins; else it ends. */
  isBegin: boolean
}

/**
 * Looks for bad hours that begin or end, and takes back what they did: entries for good last seven days, their
 * incidents no longer count, and a breaker closes that would not be open without them. Returns what began and ended.
 */
export async function keepBadHours(db: Database, breaker: BreakerLimits): Promise<BadHourChange[]> {
  const changes = await db.transaction(async (tx) => {
    const { isMine } = one(await run<{ isMine: boolean }>(tx, LOCK))
    return isMine ? run<BadHourChange>(tx, CHANGES) : undefined
  })
  if (!changes) return []
  for (let found = STEP; found === STEP; ) {
    const rows = await run<{ accountId: string | null; domain: string; found: number }>(db, DISCOUNT, [], UNPREPARED)
    found = rows[0]!.found
    await closeBreakers(
      db,
      breaker,
      rows.filter(({ accountId }) => accountId !== null),
    )
  }
  return changes
}

/** Closes those that would have stayed closed with what counts now. */
async function closeBreakers(db: Database, thresholds: BreakerLimits, domains: readonly object[]): Promise<void> {
  if (domains.length === 0) return
  type OpenBreaker = BreakerReading & { accountId: string; domain: string }
  for (const breaker of await run<OpenBreaker>(db, OPEN_BREAKERS, [JSON.stringify(domains)]))
    if (!transitionOf({ ...breaker, state: 'closed' }, thresholds))
      await changeState(db, breaker, breaker, { state: 'closed' })
}
