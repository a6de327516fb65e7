import { inTime } from '../async/timeout.ts'
import type { Database } from './connect.ts'
import { MINUTES_KEPT_DAYS } from './retention.ts'
import { run } from './statement.ts'

/** An import that never ended is over 90 days after it began. */
const IMPORT_IS_OLD = `coalesce(ended_at, created_at) < now() - interval '90 days'`

/** A closed breaker of long ago decides nothing, and one of a domain that is gone has nothing to refuse. */
const BREAKER_IS_OVER = `changed_at < now() - interval '7 days' and (state = 'closed' or not exists (
  select from domains d where d.account_id = breakers.account_id and d.name = breakers.domain))`

/** SQL: the smallest id of this long ago. An id has its time. */
const firstIdOf = (interval: string) => `(
  lpad(to_hex((extract(epoch from now() - interval '${interval}') * 1000)::int8), 12, '0') || repeat('0', 20))::uuid`

/** The trigger of the table refuses to delete an entry that is younger. */
const ENTRY_IS_OLD = `id < ${firstIdOf('3 years')}`

/** A reset works for an hour. */
const NOTICE_IS_OLD = `case kind when 'password_reset' then created_at < now() - interval '1 day'
  else created_at < now() - interval '90 days' and not is_open end`

/** What expires outside history, by the database's clock: a table, and when a row of it is over. */
const EXPIRING: [table: string, over: string][] = [
  ['idempotency_keys', 'expires_at <= now()'],
  ['batch_keys', 'expires_at <= now()'],
  ['recipient_keys', 'expires_at <= now()'],
  ['retries', `message_id < ${firstIdOf('90 days')}`],
  ['suppressions', 'expires_at <= now()'],
  ['refusals', `created_at < now() - interval '90 days'`],
  ['refused_sends', `id < ${firstIdOf('7 days')}`],
  ['unstored_refused_sends', `hour < now() - interval '7 days'`],
  ['bad_hours', `ended_at < now() - interval '90 days'`],
  ['refusing_providers', `ended_at < now() - interval '90 days'`],
  ['provider_minutes', `minute < now() - interval '2 hours'`],
  ['warm_ups', `day < (now() at time zone 'utc')::date - 7`],
  ['monthly_emails', `month < (now() at time zone 'utc')::date - 400`],
  ['dkim_keys', `state = 'retired' and retires_at <= now()`],
  ['feedback', `reported_at < now() - interval '90 days'`],
  ['webhook_hours', `hour < now() - interval '90 days'`],
  ['minute_stats', `minute < now() - interval '${MINUTES_KEPT_DAYS} days'`],
  // The lines of an import go first: it may have a million of them, too many for the statement that deletes it.
  ['import_faults', `import_id in (select id from suppression_imports where ${IMPORT_IS_OLD})`],
  ['suppression_imports', IMPORT_IS_OLD],
  ['range_replays', `coalesce(ended_at, created_at) < now() - interval '90 days'`],
  ['api_keys', `least(revoked_at, expires_at) < now() - interval '90 days'`],
  ['breakers', BREAKER_IS_OVER],
  ['audit_entries', ENTRY_IS_OLD],
  ['erasures', `coalesce(finished_at, started_at) < now() - interval '400 days'`],
  ['sessions', 'expires_at <= now()'],
  ['verifications', 'expires_at <= now()'],
  ['invitations', `coalesce(ended_at, expires_at) < now() - interval '30 days'`],
  ['notices', NOTICE_IS_OLD],
  ['site_books', `changed_at < now() - interval '1 day'`],
  // An address that has sent nothing to a provider for a month warms up again.
  ['address_warm_ups', `day < (now() at time zone 'utc')::date - 30`],
  ['stream_leases', 'until <= now()'],
  ['rate_windows', `started_at < now() - interval '1 hour'`],
]

/** The most rows that one statement removes: it holds their locks no longer than a send waits anyway. */
const ROWS = 2_000
const STATEMENT_MS = 15_000

/** Removes expired rows. A row that a send takes over at this moment stays. */
export async function removeExpired(db: Database): Promise<void> {
  for (const [table, over] of EXPIRING) {
    const statement = `
      delete from ${table}
      where ctid = any(array(select ctid from ${table} where ${over} limit ${ROWS} for update skip locked)) and ${over}`
    let removed: number
    do {
      removed = (await inTime(run(db, statement), STATEMENT_MS)).count
    } while (removed === ROWS)
  }
}
