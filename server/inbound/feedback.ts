import { matchingFormOf, parseMailbox } from '../address.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { newId } from '../db/ids.ts'
import { isExpired } from '../db/retention.ts'
import { run } from '../db/statement.ts'
import { hourlyStatistics, SUPPRESSIONS } from '../history/tail.ts'
import { inTime } from '../in-time.ts'
import { REPORT_COUNTS, REPORT_SHARD } from '../reputation/counts.ts'
import { strikeOfBounce } from '../reputation/strikes.ts'
import { saysUserUnknown } from '../smtp/rules.ts'
import type { FailedRecipient } from './diagnosis.ts'
import type { Report } from './report.ts'

/** The result for a report. */
export type FeedbackResult =
  | 'kept'
  /** The report was stored before. */
  | 'known'
  /**
   * The report names no recipient who may have the message, or the message was never sent: a dry run, the simulator.
   */
  | 'nobody'
  /** The message is over 90 days old, or does not exist. */
  | 'unknown'
  /** The outcome of the message is not stored yet: try again later. */
  | 'running'

interface Message {
  isRunning: boolean
  /** null when it is not in history. */
  accountId: string | null
  tenantId: string | null
  sandbox: boolean
  from: string
  /** The recipients who may have the message. */
  recipients: string[]
}

// One statement looks in both places: between two statements, a message could move from one to the other.
export const MESSAGE = `
  select exists (select from open_messages where id = $1) as "isRunning", account_id as "accountId", tenant_id as "tenantId", sandbox,
    request ->> 'from' as "from", (
      select coalesce(json_agg(email order by position), '[]') from recipients
      where message_id = $1 and (status = 'delivered' or in_doubt) and email not like '%@simulator.test'
    ) as recipients
  from (values (1)) as one_row left join messages on id = $1`

// Stores feedback once for each recipient and kind; the same commit holds its effects on the address and on the domain.
export const KEEP = `
  with input as materialized (
    select * from json_to_recordset($1::json) as r(id uuid, message_id uuid, account_id uuid, tenant_id text, domain text,
      recipient text, kind text, reason text, detail text, strike text, strike_email text)
  ),
  kept_feedback as (
    insert into feedback (id, message_id, account_id, recipient, kind, reason, detail)
    select id, message_id, account_id, recipient, kind, reason, detail from input order by message_id, lower(recipient)
    on conflict (message_id, lower(recipient), kind) do nothing returning id
  ),
  late as (select * from input where id in (select id from kept_feedback)),
  message as (select distinct message_id as id, account_id, tenant_id from late),
  outcome as (
    select id as event_id, message_id, reason, json_build_object('reply', detail) as smtp, strike, strike_email from late
  ),
  ${hourlyStatistics({
    from: 'late',
    where: REPORT_COUNTS.map(({ condition }) => condition).join(' or '),
    shard: String(REPORT_SHARD),
    counts: REPORT_COUNTS,
  })},
  ${SUPPRESSIONS}
  select id from late`

const STATEMENT_MS = 5_000

/** Stores the feedback of a report. After a throw it is unknown whether it was stored; a repeat is safe. */
export function feedbackStep({ db, clock }: { db: Database; clock: DatabaseClock }) {
  // Unprepared: history is partitioned by day, and only a plan for this id leaves out the other days.
  const runInTime = <Row extends object>(statement: string, parameters: string[]) =>
    inTime(run<Row>(db, statement, parameters, { prepare: false }), STATEMENT_MS)

  return async (messageId: string, report: Report): Promise<FeedbackResult> => {
    if (isExpired(messageId, clock)) return 'unknown'
    const [message] = await runInTime<Message>(MESSAGE, [messageId])
    const { isRunning, accountId: account_id, tenantId: tenant_id, sandbox, from, recipients } = message!
    if (isRunning) return 'running'
    if (account_id === null) return 'unknown'
    const feedback = sandbox ? [] : feedbackOf(report, recipients)
    if (feedback.length === 0) return 'nobody'
    const common = { message_id: messageId, account_id, tenant_id, domain: parseMailbox(from)!.domain }
    const rows = feedback.map((each) => ({ id: newId(clock.now()), ...common, ...each }))
    const stored = await runInTime(KEEP, [JSON.stringify(rows)])
    return stored.length > 0 ? 'kept' : 'known'
  }
}

function feedbackOf(report: Report, recipients: string[]) {
  if (report.kind === 'complaint') {
    const recipient = recipientOf(report.addresses, recipients)
    const complaint = { kind: 'complaint', detail: report.type, strike: 'complaint' }
    return recipient === undefined ? [] : [{ ...complaint, recipient, strike_email: recipient.toLowerCase() }]
  }
  const failures = new Map<string, FailedRecipient>()
  for (const failure of report.failures) {
    const recipient = recipientOf(failure.addresses, recipients)
    if (recipient !== undefined && !failures.has(recipient)) failures.set(recipient, failure)
  }
  return [...failures].map(([recipient, { reason, enhanced, detail }]) => ({
    kind: 'late_bounce',
    recipient,
    reason,
    detail: detail || null,
    strike: strikeOfBounce(reason, { enhanced, saysUserUnknown: saysUserUnknown(detail) }),
    strike_email: recipient.toLowerCase(),
  }))
}

/**
 * The recipient whom the report names. A report may name a forwarding address, or hide it; a sole recipient is meant
 * anyway.
 */
function recipientOf(addresses: string[], recipients: string[]): string | undefined {
  const forms = recipients.map((recipient) => recipient.toLowerCase())
  const index = addresses.map((address) => forms.indexOf(matchingFormOf(address) ?? '')).find((i) => i >= 0)
  return recipients[index ?? (recipients.length === 1 ? 0 : -1)]
}
