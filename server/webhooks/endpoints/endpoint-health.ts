import type { Database } from '../../db/connect.ts'
import { eq, sql } from '../../db/drizzle.ts'
import { webhookEndpoints, webhookHours } from '../../db/schema.ts'
import { inMs, run, uuidArray } from '../../db/statement.ts'
import { waitingOf } from '../queue/waiting.ts'

/**
 * How an endpoint responds. Counts of attempts are those of this hour and the 23 hours before. Times are Unix
 * milliseconds.
 */
export interface EndpointHealth {
  acknowledged: number
  failed: number
  lastSuccessMs: number | null
  lastFailureMs: number | null
  /** Failed attempts since the last acknowledged one. */
  consecutiveFailures: number
  /** Dispatches that wait for an attempt. A new one counts when its first attempt is over. */
  waiting: number
  oldestWaitingMs: number | null
}

// The row of an hour counts the failures after its last acknowledgement. The failures since an endpoint's last
// acknowledgement are therefore the sum from the hour of that acknowledgement on.
const HEALTH = `
  with hours as materialized (
    select * from webhook_hours where account_id = $1 and endpoint_id = any($2::uuid[])
  ),
  attempts as (
    select h.endpoint_id,
      coalesce(sum(acknowledged) filter (where hour > clock_timestamp() - interval '24 hours'), 0)::int as acknowledged,
      coalesce(sum(failed) filter (where hour > clock_timestamp() - interval '24 hours'), 0)::int as failed,
      ${inMs('max(last_acknowledged_at)')} as "lastSuccessMs",
      ${inMs('max(last_failed_at)')} as "lastFailureMs",
      coalesce(sum(failed_since) filter (where hour >= coalesce(since, '-infinity')), 0)::int as "consecutiveFailures"
    from hours h left join (
      select endpoint_id, max(hour) as since from hours where acknowledged > 0 group by endpoint_id
    ) as success on success.endpoint_id = h.endpoint_id
    group by h.endpoint_id
  ),
  waiting as (
    select endpoint_id, count(*)::int as waiting, ${inMs('min(created_at)')} as "oldestWaitingMs"
    from (${waitingOf((table) => `${table}.account_id = $1`)}) as waits
    group by endpoint_id
  )
  select e.id as "endpointId", coalesce(a.acknowledged, 0) as acknowledged, coalesce(a.failed, 0) as failed,
    a."lastSuccessMs", a."lastFailureMs", coalesce(a."consecutiveFailures", 0) as "consecutiveFailures",
    coalesce(w.waiting, 0) as waiting, w."oldestWaitingMs"
  from unnest($2::uuid[]) as e(id)
  left join attempts a on a.endpoint_id = e.id
  left join waiting w on w.endpoint_id = e.id`

/** Reads the health of endpoints of an account, in their order. */
export async function healthsOf(
  db: Database,
  accountId: string,
  endpoints: readonly { id: string }[],
): Promise<EndpointHealth[]> {
  const ids = endpoints.map(({ id }) => id)
  const rows = await run<EndpointHealth & { endpointId: string }>(db, HEALTH, [accountId, uuidArray(ids)])
  const healthOf = new Map(rows.map((row) => [row.endpointId, row]))
  return ids.map((id) => healthOf.get(id)!)
}

/** Attempts of one period. */
export interface AttemptCounts {
  acknowledged: number
  failed: number
}

interface AttemptsQuery {
  accountId: string
  /** Unix milliseconds, whole hours; `from` included, `to` excluded. */
  from: number
  to: number
  stepMs: number
}

const ATTEMPTS = `
  select ${inMs("date_bin($4 * interval '1 millisecond', hour, to_timestamp($2::int8))")} as "periodMs",
    sum(acknowledged)::int as acknowledged, sum(failed)::int as failed
  from webhook_hours
  where account_id = $1 and hour >= to_timestamp($2::int8) and hour < to_timestamp($3::int8)
  group by 1`

/** Counts the attempts of an account, to all its endpoints, for each period from `from` to `to`, in order. */
export async function attemptsOf(
  db: Database,
  { accountId, from, to, stepMs }: AttemptsQuery,
): Promise<AttemptCounts[]> {
  const parameters = [accountId, from / 1_000, to / 1_000, stepMs]
  const rows = await run<AttemptCounts & { periodMs: number }>(db, ATTEMPTS, parameters)
  const rowOf = new Map(rows.map((row) => [row.periodMs, row]))
  return Array.from({ length: (to - from) / stepMs }, (_, period) => {
    const { acknowledged, failed } = rowOf.get(from + period * stepMs) ?? NO_ATTEMPTS
    return { acknowledged, failed }
  })
}

const NO_ATTEMPTS: AttemptCounts = { acknowledged: 0, failed: 0 }

/** An endpoint that has not acknowledged an event for at least an hour, although attempts were made. */
interface FailingEndpoint {
  accountId: string
  endpointId: string
  url: string
  /** The last acknowledgement, or the first failure when there was none in 90 days. */
  since: string
}

/**
 * Reads the endpoints that have failed for long. No endpoint is ever switched off, so the operator has to know of
 * them.
 */
export async function failingEndpoints(db: Database): Promise<FailingEndpoint[]> {
  const { accountId, endpointId, hour, lastAcknowledgedAt, lastFailedAt } = webhookHours
  const { id, url } = webhookEndpoints
  const since = sql<string>`coalesce(max(${lastAcknowledgedAt}), min(${hour}))`
  return db
    .select({ accountId, endpointId, url, since })
    .from(webhookHours)
    .innerJoin(webhookEndpoints, eq(id, endpointId))
    .groupBy(accountId, endpointId, url)
    .having(
      sql`max(${lastFailedAt}) > clock_timestamp() - interval '1 day' and ${since} < clock_timestamp() - interval '1 hour'`,
    )
    .orderBy(accountId, endpointId)
}
