import type { Database } from '../db/connect.ts'
import type { Judged, State, Turn } from './breaker-rules.ts'
import { HARD_BOUNCES, SENT } from './counts.ts'

// The state of a breaker is one row, which only conditional statements change, by the database's clock: several processes agree
// without talking to each other. A domain without a row is closed.

/** Emails a half-open breaker lets through in a minute, over all processes. */
const HALF_OPEN_PER_MINUTE = 10

export interface Where {
  accountId: string
  domain: string
  openMinutes: number
}

/**
 * Reads the state of each domain and what counts in it: the running hour and the 23 before it, so that nothing over 24 hours old is
 * held against a domain. A change begins anew: what came before it does not count, and while half open nothing is too old, for
 * a domain may send little in a day. Every hour is a look-up of the primary key, however many other domains the account has:
 * `offset 0` keeps the planner from reading all hours there are of the domain instead.
 */
export function readStates(
  db: Database,
  { accountId, domains, openMinutes }: { accountId: string; domains: readonly string[]; openMinutes: number },
): Promise<(Judged & { domain: string })[]> {
  return db.$client<(Judged & { domain: string })[]>`
    select asked.domain, coalesce(state, 'closed') as state, changed_at as "changedAt", cause, emails, bounces, complaints,
      coalesce(extract(epoch from case
        when state = 'open' then changed_at + ${openMinutes}::float8 * interval '1 minute'
        when state = 'half_open' and minute + (admitted >= ${HALF_OPEN_PER_MINUTE})::int * interval '1 minute' > now()
          then minute + interval '1 minute'
      end - now()), 0)::float8 as "waitSeconds"
    from json_array_elements_text(${JSON.stringify(domains)}::text::json) as asked(domain)
    left join breakers b on b.account_id = ${accountId} and b.domain = asked.domain
    cross join lateral (select date_trunc('hour', changed_at, 'UTC') as changed_hour) as change
    cross join lateral (
      select case when state = 'half_open' then changed_hour
        else greatest(changed_hour, date_trunc('hour', now(), 'UTC') - interval '23 hours') end as since_hour
    ) as since
    cross join lateral (
      select coalesce(sum(emails), 0)::int as emails, coalesce(sum(bounces), 0)::int as bounces,
        coalesce(sum(complaints), 0)::int as complaints
      from (
        select hourly.* from generate_series(since_hour, now(), interval '1 hour') as counted_hour
        cross join lateral (
          select ${db.$client.unsafe(SENT)} as emails, ${db.$client.unsafe(HARD_BOUNCES)} as bounces, complaints
          from hourly_stats s
          where s.account_id = ${accountId} and s.tenant_id = '' and s.hour = counted_hour and s.domain = asked.domain
          offset 0
        ) as hourly
        union all
        select -base_emails, -base_bounces, -base_complaints where changed_hour >= since_hour
      ) as counted
    ) as sums`
}

/** Changes the state, unless another process has done so since it was read. */
export async function changeState(db: Database, { accountId, domain }: Where, seen: Judged, turn: Turn): Promise<void> {
  // Cut to milliseconds, as the column keeps them: rounded up, it could be in the next hour, and the base in this one.
  await db.$client`
    insert into breakers as kept (account_id, domain, state, cause, changed_at, base_emails, base_bounces, base_complaints)
    select ${accountId}, ${domain}, ${turn.state}, ${turn.cause ?? seen.cause}, date_trunc('milliseconds', now()),
      coalesce(sum(${db.$client.unsafe(SENT)}), 0), coalesce(sum(${db.$client.unsafe(HARD_BOUNCES)}), 0),
      coalesce(sum(complaints), 0)
    from hourly_stats
    where account_id = ${accountId} and tenant_id = '' and hour = date_trunc('hour', now(), 'UTC') and domain = ${domain}
    on conflict (account_id, domain) do update set
      state = excluded.state, cause = excluded.cause, changed_at = excluded.changed_at, base_emails = excluded.base_emails,
      base_bounces = excluded.base_bounces, base_complaints = excluded.base_complaints, minute = null, admitted = 0
    where kept.state = ${seen.state} and kept.changed_at = ${seen.changedAt}::timestamptz`
}

/**
 * Takes emails of a half-open minute: undefined when the message may be sent, otherwise the state and the seconds to wait. One
 * conditional update, so the ten of a minute are exact over all processes. A message of more than ten takes the following minutes
 * too and has to be the first of its minute: it could never be sent otherwise.
 */
export async function takeOfMinute(
  db: Database,
  { accountId, domain, openMinutes }: Where,
  emails: number,
): Promise<{ state: State; waitSeconds: number } | undefined> {
  const [row] = await db.$client<{ state: State; taken: boolean; waitSeconds: number }[]>`
    with this as (select date_trunc('minute', now(), 'UTC') as minute),
    taken as (
      update breakers set
        minute = this.minute + (${emails}::int - 1) / ${HALF_OPEN_PER_MINUTE} * interval '1 minute',
        admitted = case when breakers.minute = this.minute then admitted else 0 end
          + ${emails}::int - (${emails}::int - 1) / ${HALF_OPEN_PER_MINUTE} * ${HALF_OPEN_PER_MINUTE}
      from this
      where account_id = ${accountId} and domain = ${domain} and state = 'half_open'
        and (breakers.minute is null or breakers.minute < this.minute
          or breakers.minute = this.minute and admitted + ${emails}::int <= ${HALF_OPEN_PER_MINUTE})
      returning true
    )
    select state, exists (select from taken) as taken,
      extract(epoch from case
        when state = 'open' then changed_at + ${openMinutes}::float8 * interval '1 minute'
        else greatest(breakers.minute, this.minute) + interval '1 minute'
      end - now())::float8 as "waitSeconds"
    from breakers cross join this where account_id = ${accountId} and domain = ${domain}`
  return row === undefined || row.taken || row.state === 'closed' ? undefined : row
}
