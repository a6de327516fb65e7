import { DecidedBy, SmtpPhase } from '../../gen/verdict/v1/outcomes_pb.ts'
import { lowerAscii, matchingFormOf, parseMailbox } from '../../mail/address.ts'
import type { Kind } from '../../mail/smtp/attempt.ts'
import { inTime } from '../async/timeout.ts'
import type { DatabaseClock } from '../db/clock.ts'
import { type Columns, type RowOf, recordset } from '../db/columns.ts'
import type { Database } from '../db/connect.ts'
import { PAYLOAD_VERSION } from '../db/delivery-event.ts'
import { newId } from '../db/ids.ts'
import { matchingSql } from '../db/matching-sql.ts'
import { decidedByNames } from '../db/outcome-names.ts'
import { isExpired } from '../db/retention.ts'
import { run, UNPREPARED } from '../db/statement.ts'
import type { ReturnPath } from '../domains/return-path.ts'
import { hourlyStatistics, openStatistics, originalDispatches, SUPPRESSIONS } from '../ledger/tail.ts'
import { REPORT_COUNTS, REPORT_SHARD } from '../reputation/counts.ts'
import { bounceEntry, type Read, storedEvidence } from '../reputation/evidence.ts'
import { mailboxProvider } from '../reputation/mailbox-provider.ts'
import { countedUnder, isSimulated, isToSimulator } from '../reputation/simulated.ts'
import { type AddressStanding, createStandings } from '../reputation/standings.ts'
import { type Concerned, concernedBy, type HistoryRecipient } from './concerned.ts'
import type { FailedRecipient } from './diagnosis.ts'
import { kindAgainst, mailboxOf } from './member.ts'
import type { Report } from './report.ts'
import { type ReportedMessage, reportedMessages } from './reported.ts'

/** The result for a report. */
export type FeedbackResult =
  | 'kept'
  /** The report was stored before. */
  | 'known'
  /**
   * The report names no recipient of its return path's domain who may have the message, or the message was a dry run.
   */
  | 'no_recipient'
  /** The message is over 90 days old, or does not exist. */
  | 'unknown'
  /** The outcome of the message is not stored yet: try again later. */
  | 'running'

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
  evidence: 'json',
  provider: 'text',
  refusal: 'text null',
  address: 'text',
  entry: 'json null',
  in_statistics: 'boolean',
  is_member: 'boolean',
  most_counted: 'int',
  reported_at: 'timestamptz',
} as const satisfies Columns

// Reports to one return path wait for each other: the bound on what the breaker counts of a message is exact.
export const LOCK = 'select from messages where id = $1 for update'

// Stores feedback once for each recipient and kind; the same commit holds its event, and its effects on the address and
// on the domain. Those of the simulator have no such effects, and are counted apart. Statistics count every row. The
// breaker counts at most one row of a report, and at most `most_counted` rows of a message, and no member of a list:
// its failure says nothing of the list. The hand-over loop takes the dispatches, because no process holds their lease.
export const KEEP = `
  with input as materialized (
    select * from json_to_recordset($1::json) as r(
      ${recordset(ROW)})
  ),
  late as materialized (
    select id, message_id, account_id, tenant_id, domain, tag, metadata, recipient, recipient_kind, status, kind, reason,
      detail, evidence, is_member, provider, refusal, address, entry, in_statistics, reported_at, id as event_id,
      in_statistics and not is_member and not ${isToSimulator('recipient')}
        and row_number() over (partition by in_statistics, is_member, ${isToSimulator('recipient')} order by id) = 1
        and most_counted > (select count(*) from feedback f where f.message_id = i.message_id and f.counted) as counted
    from input i
    where not exists (
      select from feedback f
      where f.message_id = i.message_id and ${matchingSql('f.recipient')} = ${matchingSql('i.recipient')} and f.kind = i.kind
        and (i.is_member or not f.is_member))
  ),
  kept_feedback as (
    insert into feedback (id, message_id, account_id, recipient, kind, reason, detail, evidence, is_member, counted,
      reported_at)
    select id, message_id, account_id, recipient, kind, reason, detail, evidence, is_member, counted, reported_at from late
  ),
  event as (
    insert into events (id, message_id, account_id, event, status, reason, recipient, kind, tenant_id, sandbox, tag,
      metadata, feedback, detail, evidence, is_member, payload, created_at)
    select id, message_id, account_id, 'email.feedback', status, reason, recipient, recipient_kind, tenant_id, false, tag,
      metadata, kind, detail, evidence, is_member, ${PAYLOAD_VERSION}, reported_at
    from late
  ),
  ${originalDispatches({ event: 'email.feedback', from: 'late', leaseMs: 'null', traceparent: 'null' })},
  message as (select distinct message_id as id, account_id, tenant_id from late),
  outcome as (
    select id as event_id, message_id, reason, json_build_object('reply', detail) as smtp, refusal,
      -- The bad hour of a provider is one of replies, not of reports.
      '' as provider, false as proof_of_life, address, entry
    from late
  ),
  counted_late as (
    select ${countedUnder('account_id', 'recipient')} as account_id, tenant_id, domain, recipient, provider, tag, kind, reason, counted
    from late where in_statistics
  ),
  ${hourlyStatistics({
    from: 'counted_late',
    shard: String(REPORT_SHARD),
    counts: REPORT_COUNTS,
  })},
  counted_report as (
    select account_id, tenant_id, domain, recipient as email, provider, tag, kind as status, null as reason,
      false as in_doubt, null::smallint as bucket
    from counted_late
  ),
  ${openStatistics({ from: 'counted_report' })},
  ${SUPPRESSIONS}
  select id from late`

const STATEMENT_MS = 5_000

/** The share of a message's recipients that the breaker counts reports about; one report of a message always counts. */
const COUNTED_SHARE = 0.05

/** How long a complaint suppresses that another recipient of the message may have written. */
const SHARED_COMPLAINT_DAYS = 30

/** Stores the feedback of a report. After a throw it is unknown whether it was stored; a repeat is safe. */
export function createFeedback({ db, clock }: { db: Database; clock: DatabaseClock }) {
  const findStandings = createStandings({ db, clock })

  function store(firstId: string, rows: RowOf<typeof ROW>[]): Promise<object[]> {
    const storing = db.$client.begin(async (tx) => {
      await run(tx, LOCK, [firstId], UNPREPARED)
      return run(tx, KEEP, [JSON.stringify(rows)], UNPREPARED)
    })
    return inTime(storing, STATEMENT_MS)
  }

  /** What is known of the recipients of a message that bounced, by their addresses. */
  function standingsOf({ id, accountId, tenantId }: ReportedMessage, feedback: readonly Feedback[]) {
    const ofMessage = feedback.filter(({ messageId }) => messageId === id)
    const kinds = new Map(ofMessage.flatMap(({ address, refusal }) => (refusal ? [[address, refusal] as const] : [])))
    return findStandings({ accountId, tenantId, messageId: id, kinds })
  }

  return async (returnPath: ReturnPath, report: Report): Promise<FeedbackResult> => {
    const { messageId: firstId } = returnPath
    if (isExpired(firstId, clock)) return 'unknown'
    const messages = await reportedMessages(db, firstId)
    if (messages === 'running') return 'running'
    if (messages.length === 0) return 'unknown'
    const recipients = messages.flatMap(({ sandbox, recipients }) => (sandbox ? [] : recipients))
    const concerned = concernedBy(returnPath, recipients)
    const feedback = feedbackOf(report, concerned)
    if (feedback.length === 0) return 'no_recipient'
    const atMs = Math.floor(clock.now())
    const known = await Promise.all(
      messages.map(async (message) => ({ message, standings: await standingsOf(message, feedback) })),
    )
    const rows = feedback.map((each) => {
      const { message, standings } = known.find(({ message }) => message.id === each.messageId)!
      return rowOf(each, { message, standing: standings.get(each.address) ?? {}, concerned, atMs })
    })
    return (await store(firstId, rows)).length > 0 ? 'kept' : 'known'
  }
}

interface Circumstances {
  message: ReportedMessage
  standing: AddressStanding
  concerned: Concerned
  atMs: number
}

function rowOf(
  { messageId, isMember, read, ...each }: Feedback,
  { message, standing, concerned, atMs }: Circumstances,
): RowOf<typeof ROW> {
  const kind = each.kind === 'complaint' ? each.kind : each.refusal
  return {
    ...each,
    evidence: storedEvidence(read, kind, standing.lastDeliveredMs),
    id: newId(atMs),
    message_id: messageId,
    account_id: message.accountId,
    tenant_id: message.tenantId,
    domain: parseMailbox(message.from)!.domain,
    tag: message.tag,
    metadata: message.metadata,
    entry: each.kind === 'complaint' ? complaintEntry(each.recipient, concerned) : bounceEntry(standing, read),
    is_member: isMember,
    in_statistics: each.kind === 'complaint' || each.reason === 'mailbox_does_not_exist',
    most_counted: Math.max(1, Math.floor(message.recipients.length * COUNTED_SHARE)),
    reported_at: new Date(atMs).toISOString(),
  }
}

/** The entry that a complaint makes. The simulator's addresses get none. */
const complaintEntry = (recipient: string, { isShared }: Concerned) =>
  isSimulated(recipient)
    ? undefined
    : {
        reason: 'complaint',
        days: isShared ? SHARED_COMPLAINT_DAYS : null,
        evidence: storedEvidence(COMPLAINT, 'complaint'),
      }

const COMPLAINT: Read = { decidedBy: DecidedBy.REPORT }

interface Feedback {
  messageId: string
  recipient: string
  recipient_kind: string
  address: string
  status: string
  provider: string
  kind: 'complaint' | 'late_bounce'
  reason: string | null
  detail: string | null
  read: Read
  /** What a bounce counts against the address. The simulator's addresses have none. */
  refusal: Kind | undefined
  /** Another mailbox failed than that of the recipient. */
  isMember: boolean
}

function feedbackOf(report: Report, concerned: Concerned): Feedback[] {
  if (report.kind === 'unread' || report.kind === 'none') return []
  return report.kind === 'complaint'
    ? complaintOf(report.addresses, report.type, concerned)
    : bouncesOf(report.failures, concerned)
}

function complaintOf(addresses: string[], type: string, { find }: Concerned): Feedback[] {
  const recipient = find(addresses)
  return recipient === undefined
    ? []
    : [
        {
          ...fieldsOf(recipient),
          kind: 'complaint',
          reason: null,
          detail: type,
          read: COMPLAINT,
          refusal: undefined,
          isMember: false,
        },
      ]
}

function bouncesOf(reported: FailedRecipient[], { find, isShared }: Concerned): Feedback[] {
  const failures = new Map<HistoryRecipient, FailedRecipient>()
  // A member of a list may be a recipient of the message, too, and then counts for itself.
  const found = reported.flatMap((failure) => {
    const recipient = find([failure.failedAddress, ...failure.addresses].filter((address) => address !== undefined))
    return recipient ? [{ failure, recipient }] : []
  })
  // What names the recipient goes before what names another address, such as one that it forwards to.
  const isNamed = ({ failure, recipient }: (typeof found)[number]) =>
    failure.addresses.some((address) => matchingFormOf(address) === lowerAscii(recipient.email))
  for (const { failure, recipient } of [...found.filter(isNamed), ...found]) {
    if (!failures.has(recipient)) failures.set(recipient, failure)
  }
  return [...failures].map(([recipient, { reason, kind, detail, failedAddress, ...read }]) => {
    const mailbox = failedAddress === undefined ? 'same' : mailboxOf(failedAddress, recipient.email)
    return {
      kind: 'late_bounce',
      ...fieldsOf(recipient),
      reason: reason ?? null,
      detail: detail || null,
      read: lateRead(read),
      refusal: isSimulated(recipient.email) ? undefined : kindAgainst(kind, mailbox, isShared),
      isMember: mailbox === 'member',
    }
  })
}

const lateRead = ({ code, enhanced, reply, readAs, decidedBy, words }: Omit<FailedRecipient, 'detail'>): Read => ({
  ...{ code, enhanced, reply, readAs, words },
  decidedBy: decidedBy && decidedByNames.value(decidedBy),
  phase: SmtpPhase.LATE,
})

function fieldsOf({ messageId, email, status, kind, mx }: HistoryRecipient) {
  const provider = mailboxProvider(mx ?? undefined)
  return { messageId, recipient: email, address: lowerAscii(email), status, recipient_kind: kind, provider }
}
