import type { TROUBLE_KINDS } from '../db/people-schema.ts'
import { inMs } from '../db/statement.ts'
import { BAD_HOUR_MINUTES } from '../reputation/bad-hours.ts'
import { REFUSING_MINUTES } from '../reputation/refusing-providers.ts'
import { waitingOf } from '../webhooks/queue/waiting.ts'

// The troubles of an account, read from the state that the service keeps anyway. Notifications and the marks in the
// menu of the dashboard ask the same SQL.

export type TroubleKind = (typeof TROUBLE_KINDS)[number]

/** What a kind of trouble is about: an endpoint, a domain, a refusing provider or a bad hour, by the id's prefix. */
export const SUBJECT_PREFIXES: Record<TroubleKind, 'whk' | 'dom' | 'rfp' | 'bad'> = {
  endpoint_failing: 'whk',
  breaker_open: 'dom',
  domain_lapsed: 'dom',
  provider_refuses: 'rfp',
  provider_bad_hour: 'bad',
}

/** For this long an endpoint acknowledges nothing before people are notified. */
const FAILING_MINUTES = 5

/**
 * SQL: the CTEs of the current troubles. `which` limits them to the rows of an account: it is called with the name of a
 * table. The last CTE, `troubles`, has account_id, kind, subject_id, subject, since and waiting.
 *
 * An endpoint fails while the attempts of events fail that are younger than its last acknowledgement. Only waiting
 * dispatches are looked at, so this reads little where all endpoints acknowledge.
 */
export const troublesOf = (which: (table: string) => string): string => `
  behind as materialized (
    select account_id, endpoint_id from (${waitingOf(which)}) d where attempt > 1 group by 1, 2
  ),
  acknowledged as materialized (
    select b.account_id, b.endpoint_id, max(h.last_acknowledged_at) as at, max(h.last_failed_at) as failed_at
    from behind b join webhook_hours h on h.account_id = b.account_id and h.endpoint_id = b.endpoint_id
    group by 1, 2
  ),
  failing as materialized (
    select d.account_id, d.endpoint_id, min(d.created_at) filter (where d.attempt > 1) as since,
      count(*)::int as waiting
    from (${waitingOf(which)}) d
    join acknowledged a on a.account_id = d.account_id and a.endpoint_id = d.endpoint_id
    where d.created_at > coalesce(a.at, '-infinity') and a.failed_at > coalesce(a.at, '-infinity')
    group by 1, 2
  ),
  troubles as materialized (
    select f.account_id, 'endpoint_failing' as kind, f.endpoint_id as subject_id,
      substring(w.url from '(?i)^[a-z]+://([^/?]+)') as subject, f.since, f.waiting
    from failing f join webhook_endpoints w on w.id = f.endpoint_id and not w.disabled
    where f.since <= clock_timestamp() - interval '${FAILING_MINUTES} minutes'
    union all
    select b.account_id, 'breaker_open', d.id, d.name, b.changed_at, null
    from breakers b join domains d on d.account_id = b.account_id and d.name = b.domain
    where b.state <> 'closed' and ${which('b')}
    union all
    select d.account_id, 'domain_lapsed', d.id, d.name, coalesce(d.failing_since, d.checked_at, clock_timestamp()), null
    from domains d where d.status = 'lapsed' and ${which('d')}
    union all
    select r.account_id, 'provider_refuses', r.id, r.provider, r.began_at, (
      select coalesce(sum(policy_blocks), 0)::int from provider_minutes m
      where m.account_id = r.account_id and m.provider = r.provider
        and m.minute > clock_timestamp() - interval '${REFUSING_MINUTES} minutes')
    from refusing_providers r where r.ended_at is null and ${which('r')}
    union all
    select r.account_id, 'provider_bad_hour', b.id, b.provider, b.began_at, count(*)::int
    from bad_hours b join refusals r on r.provider = b.provider and r.in_bad_hour
      and r.created_at > b.began_at - interval '${BAD_HOUR_MINUTES} minutes'
    where b.ended_at is null and ${which('r')} group by r.account_id, b.id, b.provider, b.began_at
  )`

/** SQL: the troubles of the account `$1`. */
export const TROUBLES = `
  with ${troublesOf((table) => `${table}.account_id = $1`)}
  select kind, subject_id as "subjectId", subject, ${inMs('since')} as "sinceMs", waiting
  from troubles order by since, subject_id`

export interface Trouble {
  kind: TroubleKind
  /** The endpoint, the domain, the refusing provider or the bad hour. */
  subjectId: string
  /** The host of the endpoint, or the name of the domain or provider. */
  subject: string
  /** Unix milliseconds. */
  sinceMs: number
  /** The events that wait for the endpoint, or the emails that the provider refused; null for a domain. */
  waiting: number | null
}
