import { intoDispatches } from '../events/dispatches.ts'
import { EVENT_AT, INTO_HISTORY } from '../events/history.ts'
import { intoStatistics } from '../reputation/roll-up.ts'
import { INTO_SUPPRESSIONS } from '../reputation/strikes.ts'

/**
 * The end that every statement shares which ends sends: history with its events, the dispatches of the events, statistics, suppression
 * entries. It expects the CTEs
 *   message(id, account_id, created_at, tenant_id, region, request, domain, sandbox, checks, status, reason, size_bytes)
 *   outcome(message_id, position, event_id, email, status, reason, retryable, in_doubt, smtp, suppression, strike, strike_email)
 * and returns for each message its id, the time of its events and whether they have dispatches. `shard` (see roll-up.ts) and `leaseMs`
 * (see dispatches.ts) are SQL.
 */
export const endsSends = (shard: string, leaseMs: string) => `
  ${INTO_HISTORY},
  ${intoDispatches(leaseMs)},
  ${intoStatistics(shard)},
  ${INTO_SUPPRESSIONS}
  select m.id, (extract(epoch from ${EVENT_AT}) * 1000)::float8 as "eventsAtMs",
    m.id in (select message_id from dispatched) as "isDispatched"
  from message m`
