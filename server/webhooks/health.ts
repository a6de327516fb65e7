import type { Database } from '../db/connect.ts'

/** How an endpoint does. Counts of attempts are those of this hour and the 23 before it. Times are Unix milliseconds. */
export interface Health {
  acknowledged: number
  failed: number
  lastSuccessMs: number | null
  lastFailureMs: number | null
  /** Since the last attempt that was acknowledged. */
  consecutiveFailures: number
  waiting: number
  oldestWaitingMs: number | null
}

const ms = (time: string) => `(extract(epoch from ${time}) * 1000)::float8`

// The row of an hour knows the failures after its last acknowledgement: those of all hours since then add up.
const HEALTH = `
  with hours as materialized (
    select * from webhook_hours where account_id = $1
  ),
  attempts as (
    select
      coalesce(sum(acknowledged) filter (where hour > clock_timestamp() - interval '24 hours'), 0)::int as acknowledged,
      coalesce(sum(failed) filter (where hour > clock_timestamp() - interval '24 hours'), 0)::int as failed,
      ${ms('max(last_acknowledged_at)')} as "lastSuccessMs",
      ${ms('max(last_failed_at)')} as "lastFailureMs",
      coalesce(sum(failed_since) filter (
        where hour >= coalesce((select max(hour) from hours where acknowledged > 0), '-infinity')), 0)::int as "consecutiveFailures"
    from hours
  ),
  waiting as (
    select count(*)::int as waiting, ${ms('min(created_at)')} as "oldestWaitingMs" from open_dispatches where account_id = $1
  )
  select * from attempts, waiting`

export async function healthOf(db: Database, accountId: string): Promise<Health> {
  const [health] = await db.$client.unsafe<Health[]>(HEALTH, [accountId])
  return health!
}

/** An endpoint that has not acknowledged anything for at least an hour, although it was tried. */
export interface Failing {
  accountId: string
  url: string
  /** The last acknowledgement, or the first failure when there was none in 90 days. */
  since: string
}

const FAILING = `
  select h.account_id as "accountId", w.url, coalesce(max(last_acknowledged_at), min(hour)) as since
  from webhook_hours h join webhook_endpoints w on w.account_id = h.account_id
  group by h.account_id, w.url
  having max(last_failed_at) > clock_timestamp() - interval '1 day'
    and coalesce(max(last_acknowledged_at), min(hour)) < clock_timestamp() - interval '1 hour'
  order by 1`

/** Endpoints that fail for long. Nothing is ever switched off, so somebody has to be told. */
export async function failingEndpoints(db: Database): Promise<Failing[]> {
  return db.$client.unsafe<Failing[]>(FAILING)
}
