import type { Database } from '../db/connect.ts'
import { run } from '../db/statement.ts'
import type { BreakerReading, State, Transition } from './breaker-rules.ts'
import { COMPLAINTS, HARD_BOUNCES, SENT } from './counts.ts'

// The state of a breaker is one row, which only conditional statements change, by the database's clock: several
// processes agree without talking to each other. A domain without a row is closed.

/** Copies that a half-open breaker admits in a minute, over all processes. */
const HALF_OPEN_PER_MINUTE = 10

export interface BreakerOf {
  accountId: string
  domain: string
  openMinutes: number
}

// Every hour is a look-up of the primary key, however many other domains the account has: `offset 0` keeps the planner
// from reading all hours of the domain instead.
export const BREAKER_STATES = `
  select input.domain, coalesce(state, 'closed') as state, changed_at as "changedAt", cause, copies, bounces, complaints,
    coalesce(extract(epoch from case
      when state = 'open' then changed_at + $3::float8 * interval '1 minute'
      when state = 'half_open' and minute + (admitted >= ${HALF_OPEN_PER_MINUTE})::int * interval '1 minute' > now()
        then minute + interval '1 minute'
    end - now()), 0)::float8 as "waitSeconds"
  from json_array_elements_text($2::text::json) as input(domain)
  left join breakers b on b.account_id = $1 and b.domain = input.domain
  cross join lateral (select date_trunc('hour', changed_at, 'UTC') as changed_hour) as change
  cross join lateral (
    select case when state = 'half_open' then changed_hour
      else greatest(changed_hour, date_trunc('hour', now(), 'UTC') - interval '23 hours') end as since_hour
  ) as since
  cross join lateral (
    select coalesce(sum(copies), 0)::int as copies, coalesce(sum(bounces), 0)::int as bounces,
      coalesce(sum(complaints), 0)::int as complaints
    from (
      select hourly.* from generate_series(since_hour, now(), interval '1 hour') as counted_hour
      cross join lateral (
        select ${SENT} as copies, ${HARD_BOUNCES} as bounces, ${COMPLAINTS} as complaints
        from hourly_stats s
        where s.account_id = $1 and s.tenant_id = '' and s.hour = counted_hour and s.domain = input.domain
        offset 0
      ) as hourly
      union all
      select -base_emails, -base_bounces, -base_complaints where changed_hour >= since_hour
    ) as counted
  ) as sums`

/**
 * Reads the state of each domain and the counts that decide it: the running hour and the 23 before it, so nothing over
 * 24 hours old counts against a domain. A change of state starts anew: what came before it does not count. While half
 * open nothing is too old, because a domain may send little in a day.
 */
export function readStates(
  db: Database,
  { accountId, domains, openMinutes }: { accountId: string; domains: readonly string[]; openMinutes: number },
): Promise<(BreakerReading & { domain: string })[]> {
  return run(db, BREAKER_STATES, [accountId, JSON.stringify(domains), openMinutes])
}

// The time is cut to milliseconds, as the column stores it. Rounded up, it could be in the next hour, and the base in
// this one.
export const CHANGE_BREAKER = `
  insert into breakers as kept (account_id, domain, state, cause, changed_at, base_emails, base_bounces, base_complaints)
  select $1, $2, $3, $4, date_trunc('milliseconds', now()),
    coalesce(sum(${SENT}), 0), coalesce(sum(${HARD_BOUNCES}), 0), coalesce(sum(${COMPLAINTS}), 0)
  from hourly_stats
  where account_id = $1 and tenant_id = '' and hour = date_trunc('hour', now(), 'UTC') and domain = $2
  on conflict (account_id, domain) do update set
    state = excluded.state, cause = excluded.cause, changed_at = excluded.changed_at, base_emails = excluded.base_emails,
    base_bounces = excluded.base_bounces, base_complaints = excluded.base_complaints, minute = null, admitted = 0
  where kept.state = $5 and kept.changed_at = $6::timestamptz`

/** Changes the state, unless another process has done so since `reading`. */
export async function changeState(
  db: Database,
  { accountId, domain }: Pick<BreakerOf, 'accountId' | 'domain'>,
  reading: BreakerReading,
  { state, cause = reading.cause ?? undefined }: Transition,
): Promise<void> {
  await run(db, CHANGE_BREAKER, [accountId, domain, state, cause ?? null, reading.state, reading.changedAt])
}

// One conditional update, so the ten of a minute are exact over all processes.
export const ADMIT_HALF_OPEN = `
  with this as (select date_trunc('minute', now(), 'UTC') as minute),
  admission as (
    update breakers set
      minute = this.minute + ($3::int - 1) / ${HALF_OPEN_PER_MINUTE} * interval '1 minute',
      admitted = case when breakers.minute = this.minute then admitted else 0 end
        + $3::int - ($3::int - 1) / ${HALF_OPEN_PER_MINUTE} * ${HALF_OPEN_PER_MINUTE}
    from this
    where account_id = $1 and domain = $2 and state = 'half_open'
      and (breakers.minute is null or breakers.minute < this.minute
        or breakers.minute = this.minute and admitted + $3::int <= ${HALF_OPEN_PER_MINUTE})
    returning true
  )
  select state, exists (select from admission) as "isAdmitted",
    extract(epoch from case
      when state = 'open' then changed_at + $4::float8 * interval '1 minute'
      else greatest(breakers.minute, this.minute) + interval '1 minute'
    end - now())::float8 as "waitSeconds"
  from breakers cross join this where account_id = $1 and domain = $2`

/**
 * Counts copies in a half-open breaker's minute. Returns undefined when the message may be sent, otherwise the state
 * and the seconds to wait. A message of more than ten copies takes the following minutes too and has to be the first of
 * its minute: it could never be sent otherwise.
 */
export async function admitHalfOpen(
  db: Database,
  { accountId, domain, openMinutes }: BreakerOf,
  copies: number,
): Promise<{ state: State; waitSeconds: number } | undefined> {
  const [row] = await run<{ state: State; isAdmitted: boolean; waitSeconds: number }>(db, ADMIT_HALF_OPEN, [
    accountId,
    domain,
    copies,
    openMinutes,
  ])
  return row === undefined || row.isAdmitted || row.state === 'closed' ? undefined : row
}
