import { recordset } from '../db/columns.ts'
import { PAYLOAD_VERSION } from '../db/delivery-event.ts'
import type { EventKind } from '../db/event-kinds.ts'
import { LATENCY_BOUNDS_MS } from '../db/latency-buckets.ts'
import { recipientDomainSql } from '../db/matching-sql.ts'
import { inMs } from '../db/statement.ts'
import { addCounts, type Count, DELIVERED_COUNTS, SEND_COUNTS } from '../reputation/counts.ts'
import { countedUnder } from '../reputation/simulated.ts'
import { EVENT_AT, originalDispatchId } from './event-ids.ts'
import { ENTRY } from './rows.ts'

// The tail of every statement that ends sends, in reading order: history, dispatches, statistics, suppressions. Its
// parts are CTEs that read two others, which the head of the statement defines:
//   message: id, account_id, created_at, tenant_id, region, request, domain, sandbox, checks, status, reason,
//            size_bytes, digest, traceparent, and the columns of OF_REQUEST
//   outcome: message_id, event_id, email, kind, and the columns of OUTCOME (rows.ts)

/** Columns of `message` that are read from its request `m.request` once, and not for each recipient. */
export const OF_REQUEST = `m.request ->> 'tag' as tag, m.request -> 'metadata' as metadata`

/** No attempt begins later than this after its dispatch was created. */
export const WINDOW_HOURS = 24

export interface TailParts {
  /** SQL: the shard of the statistics. Commits with different shards do not wait for each other. */
  shard: string
  /** SQL: how long this process makes the first attempts; null leaves them to Temporal. */
  leaseMs: string
  /** Every outcome is `delivered`. Without the parts for all others the statement starts in less time. */
  isDelivered?: boolean
}

/**
 * The tail. The statement returns each message's id, the time of its events, and its dispatches: the ids of dispatch,
 * event and endpoint.
 */
export const tail = ({ shard, leaseMs, isDelivered = false }: TailParts): string => `
  ${HISTORY},
  ${originalDispatches({ event: 'email.delivery', from: PUSHED, leaseMs, traceparent: 'e.traceparent' })},
  ${statistics(shard, isDelivered ? DELIVERED_COUNTS : SEND_COUNTS)}${isDelivered ? '' : `,\n  ${SUPPRESSIONS}`}
  select m.id, ${inMs(EVENT_AT)} as "eventsAtMs",
    (select json_agg(json_build_array(d.id, d.event_id, d.endpoint_id)) from dispatch d where d.message_id = m.id)
      as dispatches
  from message m`

// One event for each recipient, in the same commit as the outcome.
const HISTORY = `
  kept_message as (
    insert into messages (
      id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes, digest, created_at,
      completed_at, request, checks)
    select id, account_id, status, reason, sandbox, tenant_id, region, domain, tag, size_bytes,
      decode(digest, 'hex'), created_at,
      ${EVENT_AT},
      request, checks
    from message m
  ),
  kept_recipient as (
    insert into recipients (
      message_id, account_id, position, event_id, email, kind, status, reason, retryable, in_doubt, smtp, suppression,
      detail)
    select m.id, m.account_id, o.position, o.event_id, o.email, o.kind, o.status, o.reason, o.retryable, o.in_doubt,
      o.smtp, o.suppression, o.detail
    from outcome o join message m on m.id = o.message_id
  ),
  event as (
    insert into events (
      id, message_id, account_id, status, reason, recipient, kind, tenant_id, sandbox, tag, metadata, payload,
      created_at)
    select o.event_id, m.id, m.account_id, o.status, o.reason, o.email, o.kind, m.tenant_id, m.sandbox,
      m.tag, m.metadata, ${PAYLOAD_VERSION},
      ${EVENT_AT}
    from outcome o join message m on m.id = o.message_id
  )`

// Only a replay pushes the event of a dry run.
const PUSHED = `(
      select o.event_id, o.message_id, o.status, m.account_id, m.traceparent, m.tenant_id, m.domain, m.tag
      from outcome o join message m on m.id = o.message_id
      where not m.sandbox
    )`

interface OriginalDispatches {
  event: EventKind
  /** A CTE or a query with event_id, message_id, account_id, status, tag, tenant_id and domain. */
  from: string
  /** SQL: how long this process makes the first attempts; null leaves them to Temporal. */
  leaseMs: string
  /** SQL: the trace that the dispatches continue; `e` is the row of `from`. */
  traceparent: string
}

/**
 * SQL: whether the endpoint `w` is enabled and asks for the event `e`, a row with account_id, status, tag, tenant_id
 * and domain. `kind` is SQL, too: the kind of the event.
 */
export const asksFor = (kind: string): string => `w.account_id = e.account_id and not w.disabled
      and ${kind} = any(w.events) and e.status = any(w.statuses)
      and (w.tags is null or e.tag = any(w.tags))
      and (w.tenant_ids is null or e.tenant_id = any(w.tenant_ids))
      and (w.domains is null or e.domain = any(w.domains))`

/**
 * The CTE that creates the original dispatches of events, in the commit of the events: a dispatch is one run of the
 * retry schedule for one event and one endpoint. There is one for each endpoint that is enabled at that moment and asks
 * for such events.
 */
export const originalDispatches = ({ event, from, leaseMs, traceparent }: OriginalDispatches): string => `
  dispatch as (
    insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at,
      deadline_at, lease_until, traceparent)
    select ${originalDispatchId('e.event_id')}, e.event_id, e.message_id, e.account_id, w.id, 'original', now(), now(),
      now() + interval '${WINDOW_HOURS} hours', now() + ${leaseMs} * interval '1 millisecond', ${traceparent}
    from ${from} e
    join webhook_endpoints w on ${asksFor(`'${event}'`)}
    returning id, event_id, message_id, endpoint_id
  )`

// Dry runs are not counted. Emails to the simulator are counted apart.
const statistics = (shard: string, counts: readonly Count[]) => `
  counted_email as (
    select ${countedUnder('m.account_id', 'o.email')} as account_id, m.tenant_id, m.domain, o.status, o.reason, o.in_doubt, o.email, o.provider, m.tag,
      width_bucket(
        ${inMs('now() - m.created_at')},
        array[${LATENCY_BOUNDS_MS.join(', ')}]::float8[]
      ) as bucket
    from outcome o join message m on m.id = o.message_id
    where not m.sandbox
  ),
  ${hourlyStatistics({ from: 'counted_email', shard, counts })},
  ${openStatistics({ from: 'counted_email' })}`

interface OpenStatistics {
  /**
   * A CTE with account_id, tenant_id, domain, email, provider, tag, status, reason, in_doubt and bucket: `status` is
   * that of an email, or the kind of a report.
   */
  from: string
}

/** The CTE that leaves a row for each row of `from`, for statistics by the minute and by group. */
export const openStatistics = ({ from }: OpenStatistics): string => `
  open_count as (
    insert into open_stats (account_id, minute, tenant_id, domain, recipient_domain, provider, tag, status, reason,
      in_doubt, bucket)
    select account_id, date_trunc('minute', now()), coalesce(tenant_id, ''), domain, ${recipientDomainSql('email')},
      provider, coalesce(tag, ''), status, reason, in_doubt, bucket
    from ${from}
  )`

interface HourlyStatistics {
  /** A CTE with account_id, tenant_id and domain, and what the conditions of the counts mention. */
  from: string
  /** SQL. */
  shard: string
  counts: readonly Count[]
}

/**
 * The CTE that counts the rows of `from`: one row of the running hour for the sending domain, and one for the tenant.
 */
export const hourlyStatistics = ({ from, shard, counts }: HourlyStatistics): string => `
  hourly_count as (
    insert into hourly_stats as kept (account_id, tenant_id, hour, domain, shard,
      ${counts.map(({ column }) => column).join(', ')})
    select account_id, tenant.id, date_trunc('hour', now(), 'UTC'), domain, ${shard},
      ${counts.map(({ condition }) => `count(*) filter (where ${condition})`).join(',\n      ')}
    from ${from} cross join lateral (select '' as id union select tenant_id where tenant_id is not null) as tenant
    group by account_id, tenant.id, domain order by account_id, tenant.id, domain
    on conflict (account_id, tenant_id, hour, domain, shard) do update set
      ${addCounts(counts.map(({ column }) => column))}
  )`

/**
 * The CTEs that keep refusals of addresses and add the entries that are due to suppression lists, in the commit that
 * keeps what they come from. They read of `message` the id, account_id and tenant_id, and of `outcome` the message_id,
 * event_id, reason, smtp, refusal, provider, proof_of_life, address and entry. An address is refused once in a message,
 * even when it was sent to several spellings. A shorter entry never replaces a longer one.
 */
export const SUPPRESSIONS = `
  refusal as (
    insert into refusals (event_id, account_id, tenant_id, email, kind, provider, proof_of_life)
    select distinct on (o.message_id, o.address)
      o.event_id, m.account_id, coalesce(m.tenant_id, ''), o.address, o.refusal, o.provider, o.proof_of_life
    from outcome o join message m on m.id = o.message_id
    where o.refusal is not null
    order by o.message_id, o.address, o.event_id
  ),
  suppression as (
    insert into suppressions as kept (id, account_id, tenant_id, email, reason, message_id, detail, evidence,
      expires_at)
    select distinct on (m.account_id, o.address, coalesce(m.tenant_id, ''))
      o.event_id, m.account_id, coalesce(m.tenant_id, ''), o.address, e.reason, o.message_id,
      coalesce(o.smtp ->> 'reply', o.reason), e.evidence, now() + e.days * interval '1 day'
    from outcome o join message m on m.id = o.message_id
    cross join lateral json_to_record(o.entry) as e(${recordset(ENTRY)})
    where o.entry is not null
    order by m.account_id, o.address, coalesce(m.tenant_id, ''), e.days desc nulls first
    on conflict (account_id, email, tenant_id) do update set id = excluded.id, reason = excluded.reason,
      message_id = excluded.message_id, detail = excluded.detail, evidence = excluded.evidence, created_at = now(),
      expires_at = excluded.expires_at, import_id = null, replaced = null
    where kept.expires_at < coalesce(excluded.expires_at, 'infinity')
      or (kept.import_id is not null and excluded.expires_at is null)
  )`
