import { INTO_HISTORY } from '../events/history.ts'
import { intoStatistics } from '../reputation/roll-up.ts'
import { INTO_SUPPRESSIONS } from '../reputation/strikes.ts'

/**
 * The end that every statement shares which ends sends: history with its events, statistics, suppression entries. It expects the CTEs
 *   message(id, account_id, created_at, tenant_id, region, request, domain, sandbox, checks, status, reason, size_bytes)
 *   outcome(message_id, position, event_id, email, status, reason, retryable, in_doubt, smtp, suppression, strike, strike_email)
 * and gives the ids of the messages. `shard` is SQL: see roll-up.ts.
 */
export const endsSends = (shard: string) => `
  ${INTO_HISTORY},
  ${intoStatistics(shard)},
  ${INTO_SUPPRESSIONS}
  select id from message`
