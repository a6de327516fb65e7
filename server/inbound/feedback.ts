import { matchingFormOf, parseMailbox } from '../address.ts'
import type { DatabaseClock } from '../db/clock.ts'
import { type Columns, type RowOf, recordset } from '../db/columns.ts'
import type { Database } from '../db/connect.ts'
import { PAYLOAD_VERSION } from '../db/delivery-event.ts'
import { newId } from '../db/ids.ts'
import { isExpired } from '../db/retention.ts'
import { run } from '../db/statement.ts'
import { hourlyStatistics, originalDispatches, SUPPRESSIONS } from '../history/tail.ts'
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
   * The report names no recipient who may have the message, or the message was a dry run.
   */
  | 'no_recipient'
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
  tag: string | null
  metadata: Record<string, string> | null
  /** The recipients who may have the message. */
  recipients: Recipient[]
}

interface Recipient {
  email: string
  status: string
  kind: string
}

// One statement looks in both places: between two statements, a message could move from one to the other.
export const MESSAGE = `
  select exists (select from open_messages where id = $1) as "isRunning", account_id as "accountId", tenant_id as "tenantId", sandbox,
    request ->> 'from' as "from", tag, request -> 'metadata' as metadata, (
      select coalesce(json_agg(json_build_object('email', email, 'status', status, 'kind', kind) order by position), '[]')
      from recipients
      where message_id = $1 and (status = 'delivered' or in_doubt)
    ) as recipients
  from (values (1)) as one_row left join messages on id = $1`

const ROW = {
  id: 'uuid',
  message_id: 'uuid',
  account_id: 'uuid',
  tenant_id: 'text null',
  domain: 'text',
  tag: 'text null',
  metadata: 'json null',
  recipient: 'text',
  recipient_kind: 'text',
  status: 'text',
  kind: 'text',
  reason: 'text null',
  detail: 'text null',
  strike: 'text null',
  strike_email: 'text',
  reported_at: 'timestamptz',
} as const satisfies Columns

// Stores feedback once for each recipient and kind; the same commit holds its event, and its effects on the address and
// on the domain. Those of the simulator have no such effects. The hand-over loop takes the dispatches, because no
// process holds their lease.
export const KEEP = `
  with input as materialized (
    select * from json_to_recordset($1::json) as r(
      ${recordset(ROW)})
  ),
  kept_feedback as (
    insert into feedback (id, message_id, account_id, recipient, kind, reason, detail, reported_at)
    select id, message_id, account_id, recipient, kind, reason, detail, reported_at from input
    order by message_id, lower(recipient)
    on conflict (message_id, lower(recipient), kind) do nothing returning id
  ),
  late as (select *, id as event_id from input where id in (select id from kept_feedback)),
  event as (
    insert into events (id, message_id, account_id, event, status, reason, recipient, kind, tenant_id, sandbox, tag,
      metadata, feedback, detail, payload, created_at)
    select id, message_id, account_id, 'email.feedback', status, reason, recipient, recipient_kind, tenant_id, false, tag,
      metadata, kind, detail, ${PAYLOAD_VERSION}, reported_at
    from late
  ),
  ${originalDispatches({ event: 'email.feedback', from: 'late', leaseMs: 'null', traceparent: 'null' })},
  message as (select distinct message_id as id, account_id, tenant_id from late),
  outcome as (
    select id as event_id, message_id, reason, json_build_object('reply', detail) as smtp, strike, strike_email from late
  ),
  ${hourlyStatistics({
    from: 'late',
    where: `(${REPORT_COUNTS.map(({ condition }) => condition).join(' or ')}) and recipient not like '%@simulator.test'`,
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
    const { isRunning, accountId: account_id, tenantId: tenant_id, sandbox, from, recipients, tag, metadata } = message!
    if (isRunning) return 'running'
    if (account_id === null) return 'unknown'
    const feedback = sandbox ? [] : feedbackOf(report, recipients)
    if (feedback.length === 0) return 'no_recipient'
    const { domain } = parseMailbox(from)!
    const atMs = Math.floor(clock.now())
    const rows = feedback.map(
      (each): RowOf<typeof ROW> => ({
        id: newId(atMs),
        message_id: messageId,
        account_id,
        tenant_id,
        domain,
        tag,
        metadata,
        ...each,
        strike: each.recipient.endsWith('@simulator.test') ? null : each.strike,
        reported_at: new Date(atMs).toISOString(),
      }),
    )
    const stored = await runInTime(KEEP, [JSON.stringify(rows)])
    return stored.length > 0 ? 'kept' : 'known'
  }
}

function feedbackOf(report: Report, recipients: Recipient[]) {
  if (report.kind === 'complaint') {
    const recipient = recipientOf(report.addresses, recipients)
    const complaint = { kind: 'complaint', reason: null, detail: report.type, strike: 'complaint' }
    return recipient === undefined ? [] : [{ ...complaint, ...fieldsOf(recipient) }]
  }
  const failures = new Map<Recipient, FailedRecipient>()
  for (const failure of report.failures) {
    const recipient = recipientOf(failure.addresses, recipients)
    if (recipient !== undefined && !failures.has(recipient)) failures.set(recipient, failure)
  }
  return [...failures].map(([recipient, { reason, enhanced, detail }]) => ({
    kind: 'late_bounce',
    ...fieldsOf(recipient),
    reason,
    detail: detail || null,
    strike: strikeOfBounce(reason, { enhanced, saysUserUnknown: saysUserUnknown(detail) }),
  }))
}

function fieldsOf({ email, status, kind }: Recipient) {
  return { recipient: email, strike_email: email.toLowerCase(), status, recipient_kind: kind }
}

/**
 * The recipient whom the report names. A report may name a forwarding address, or hide it; a sole recipient is meant
 * anyway.
 */
function recipientOf(addresses: string[], recipients: Recipient[]): Recipient | undefined {
  const forms = recipients.map(({ email }) => email.toLowerCase())
  const index = addresses.map((address) => forms.indexOf(matchingFormOf(address) ?? '')).find((i) => i >= 0)
  return recipients[index ?? (recipients.length === 1 ? 0 : -1)]
}
