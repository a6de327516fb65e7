import { inTime } from '../async/timeout.ts'
import type { Database } from '../db/connect.ts'
import { idsAndBounds, run, UNPREPARED } from '../db/statement.ts'
import type { HistoryRecipient } from './concerned.ts'

// A return path belongs to the first message of a chain of retries and to all that retry it (sending/retry.ts). So a
// report with it may be about any of them.

/** A message that a report can be about. */
export interface ReportedMessage {
  id: string
  accountId: string
  tenantId: string | null
  sandbox: boolean
  from: string
  tag: string | null
  metadata: Record<string, string> | null
  recipients: HistoryRecipient[]
}

// Each recipient can be retried once, so only the last message that retries it may have been delivered. There are at
// most as many of these messages as the first one has recipients.
export const LAST_RETRIES = `
  select distinct message_id as id from retries r
  where first_id = $1 and not exists (
    select from retries later where later.retried_id = r.message_id and later.retried_position = r.position)`

// One statement looks in both places: between two statements, a message could move from one to the other.
const IDS = 'between $2 and $3'
export const REPORTED = `
  select o.id is not null as "isRunning", m.id, m.account_id as "accountId", m.tenant_id as "tenantId", m.sandbox,
    m.request ->> 'from' as "from", m.tag, m.request -> 'metadata' as metadata, (
      select coalesce(json_agg(json_build_object('messageId', r.message_id, 'email', email, 'status', r.status,
        'kind', kind, 'position', position, 'mayHaveIt', r.status = 'delivered' or in_doubt, 'mx', smtp ->> 'mx') order by position), '[]')
      from recipients r
      where r.message_id = m.id and r.message_id ${IDS}
    ) as recipients
  from unnest($1::uuid[]) as asked(id)
  left join open_messages o on o.id = asked.id
  left join messages m on m.id = asked.id and m.id ${IDS}
  order by asked.id`

const STATEMENT_MS = 5_000

/** Reads the messages that a return path belongs to, the first one first; `running` when the outcome of one is open. */
export async function reportedMessages(db: Database, firstId: string): Promise<ReportedMessage[] | 'running'> {
  const later = await inTime(run<{ id: string }>(db, LAST_RETRIES, [firstId]), STATEMENT_MS)
  const ids = idsAndBounds([firstId, ...later.map(({ id }) => id)])
  const rows = await inTime(run<ReportedMessage & { isRunning: boolean }>(db, REPORTED, ids, UNPREPARED), STATEMENT_MS)
  if (rows.some(({ isRunning }) => isRunning)) return 'running'
  return rows.filter(({ id }) => id !== null)
}
