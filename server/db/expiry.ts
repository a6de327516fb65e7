import { inTime } from '../async/timeout.ts'
import type { Database } from './connect.ts'
import { MINUTES_KEPT_DAYS } from './retention.ts'
import { one, run, UNPREPARED } from './statement.ts'

/** An import that never ended is over 90 days after it began. */
const IMPORT_IS_OLD = `coalesce(ended_at, created_at) < now() - interval '90 days'`
/** SQL: the part of a table that a round looks at. */
const IN_PART = 'ctid >= $1::text::tid and ctid < $2::text::tid'

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

/** A table, and when a row of it is over, by the database's clock. */
type Expiring = [table: string, over: string]

/** What expires outside history. An index finds what is over. */
const BY_INDEX: Expiring[] = [
  ['idempotency_keys', 'expires_at <= now()'],
  ['batch_keys', 'expires_at <= now()'],
  ['recipient_keys', 'expires_at <= now()'],
  ['retries', `message_id < ${firstIdOf('90 days')}`],
  ['suppressions', 'expires_at <= now()'],
  ['refusals', `created_at < now() - interval '90 days'`],
  ['refused_sends', `id < ${firstIdOf('7 days')}`],
  ['provider_minutes', `minute < now() - interval '2 hours'`],
  ['feedback', `reported_at < now() - interval '90 days'`],
  ['minute_stats', `minute < now() - interval '${MINUTES_KEPT_DAYS} days'`],
  ['audit_entries', ENTRY_IS_OLD],
]

/** The same without an index: a round looks at a part of each table. */
const BY_PARTS: Expiring[] = [
  ['unstored_refused_sends', `hour < now() - interval '7 days'`],
  ['monthly_emails', `month < (now() at time zone 'utc')::date - 400`],
  ['webhook_hours', `hour < now() - interval '90 days'`],
  ['warm_ups', `day < (now() at time zone 'utc')::date - 7`],
  ['bad_hours', `ended_at < now() - interval '90 days'`],
  ['refusing_providers', `ended_at < now() - interval '90 days'`],
  ['dkim_keys', `state = 'retired' and retires_at <= now()`],
  ['suppression_imports', IMPORT_IS_OLD],
  ['range_replays', `coalesce(ended_at, created_at) < now() - interval '90 days'`],
  ['api_keys', `least(revoked_at, expires_at) < now() - interval '90 days'`],
  ['breakers', BREAKER_IS_OVER],
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

/** The lines of an import go first: it may have a million of them, too many for the statement that deletes it. */
const LINES: Expiring = [
  'import_faults',
  `import_id in (select id from suppression_imports where ${IMPORT_IS_OLD} and ${IN_PART})`,
]

/** The most rows that one statement removes: it holds their locks no longer than a send waits anyway. */
const ROWS = 2_000
const STATEMENT_MS = 15_000

/** 1 MB of a table. */
const BLOCKS = 128

// Every process looks at the same part in the same minute, and at the next one in the next.
const PART = `
  with part as (
    select mod((extract(epoch from now()) / 60)::int8, pg_relation_size($1::text::regclass)
      / current_setting('block_size')::int / ${BLOCKS} + 1) * ${BLOCKS} as "from"
  )
  select format('(%s,0)', "from") as "from", format('(%s,0)', "from" + ${BLOCKS}) as "to" from part`

/** Removes expired rows. A row that a send takes over at this moment stays. */
export async function removeExpired(db: Database): Promise<void> {
  for (const expiring of BY_INDEX) await remove(db, expiring)
  for (const [table, over] of BY_PARTS) {
    const { from, to } = one(await run<{ from: string; to: string }>(db, PART, [table]))
    if (table === 'suppression_imports') await remove(db, LINES, [from, to])
    await remove(db, [table, `${over} and ${IN_PART}`], [from, to])
  }
}

async function remove(db: Database, [table, over]: Expiring, part: string[] = []): Promise<void> {
  const statement = `
    delete from ${table}
    where ctid = any(array(select ctid from ${table} where ${over} limit ${ROWS} for update skip locked)) and ${over}`
  let removed: number
  do {
    removed = (await inTime(run(db, statement, part, UNPREPARED), STATEMENT_MS)).count
  } while (removed === ROWS)
}
