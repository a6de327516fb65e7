import type postgres from 'postgres'
import { SuppressionReason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { lowerAscii } from '../../mail/address.ts'
import { firstIdAt, idAt } from '../../server/db/ids.ts'
import type { StoredRequest } from '../../server/db/json-columns.ts'
import { run } from '../../server/db/statement.ts'
import { KEEP } from '../../server/inbound/feedback.ts'
import { type Claim, sendRow } from '../../server/ledger/claim.ts'
import { SETTLE } from '../../server/ledger/settle.ts'
import { mailboxProvider } from '../../server/reputation/mailbox-provider.ts'
import { endingRow, refusedAddresses } from '../../server/sending/outcome.ts'
import { CHECKS } from '../../server/sending/send.ts'
import { END } from '../../server/webhooks/attempt/end.ts'
import { type Attempt, attemptsAt } from './attempts.ts'
import { dryRunOf, type Ended, endOf, type SuppressedAddress, suppressedOf } from './outcome.ts'
import { SET_TIME } from './past.ts'
import type { Random } from './random.ts'
import type { PlannedEmail, PlannedRecipient } from './week.ts'

// Stores the emails of the demo in their order, by the statements of sends, reports and attempts.

/** Emails of one transaction: the event stream waits for open transactions, so each is short. */
const PER_TRANSACTION = 100
const SHARD = 1
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export interface Stored {
  messages: number
  events: number
  attempts: number
}

interface DemoAccount {
  accountId: string
  /** The time up to which the demo reaches, in Unix milliseconds. */
  nowMs: number
}

/** A statement with its parameters, and the time at which it runs. */
interface TimedStatement {
  atMs: number
  statement: string
  parameters: (string | number)[]
}

/** A send or a report, and the attempts of its events. */
interface StoredPart {
  step: TimedStatement
  attempts: StoredAttempt[]
}

interface StoredAttempt extends Attempt {
  dispatchId: string
}

export async function storeWeek(
  sql: postgres.Sql,
  random: Random,
  emails: readonly PlannedEmail[],
  account: DemoAccount,
): Promise<Stored> {
  const suppressed = new Map<string, SuppressedAddress>()
  const stored: Stored = { messages: 0, events: 0, attempts: 0 }
  for (let first = 0; first < emails.length; first += PER_TRANSACTION) {
    const parts = emails.slice(first, first + PER_TRANSACTION).flatMap((email) => {
      const { messageId, ends, ...send } = sendOf(random, email, account, suppressed, stored)
      return [send, ...feedbackOf(random, { email, messageId, ends }, account, suppressed, stored)]
    })
    const steps = [
      ...parts.map(({ step }) => step),
      ...attemptSteps(
        account,
        parts.flatMap(({ attempts }) => attempts),
      ),
    ]
    await sql.begin((tx) =>
      // The connection runs them one after another; none waits for the response of the one before.
      Promise.all(
        steps.flatMap(({ atMs, statement, parameters }) => [run(tx, SET_TIME, [atMs]), run(tx, statement, parameters)]),
      ),
    )
  }
  return stored
}

function sendOf(
  random: Random,
  email: PlannedEmail,
  { accountId, nowMs }: DemoAccount,
  suppressed: Map<string, SuppressedAddress>,
  stored: Stored,
) {
  const { atMs, recipients, sandbox, tenantId } = email
  const messageId = idOf(random, atMs)
  const ends = recipients.map((recipient, i): Ended => {
    if (sandbox) return dryRunOf(recipient)
    const entry = suppressed.get(keyOf(recipient)) ?? suppressed.get(keyOf(recipient, tenantId))
    if (entry) return suppressedOf(recipient, entry)
    return endOf(random, recipient, recipients.length > 1 ? i + 1 : undefined)
  })
  const endedAtMs = atMs + Math.max(...ends.map(({ durationMs }) => durationMs))
  const claim: Claim = {
    messageId,
    accountId,
    claimId: messageId,
    leaseMs: 0,
    createdAtMs: atMs,
    tenantId,
    region: 'eu',
    domain: email.fromDomain,
    request: requestOf(email),
    recipients: recipients.map(({ email }) => ({ eventId: idOf(random, atMs), email, kind: 'to' })),
  }
  const content = { sizeBytes: random.whole(3_200, 24_000), digest: random.hex(64) }
  const outcomes = ends.map(({ outcome }) => outcome)
  const unknown = [...refusedAddresses(outcomes).kinds].filter(([, kind]) => kind === 'unknown')
  const standings = new Map(unknown.map(([address, kind]) => [address, { due: { kind, days: null } }]))
  const ending = endingRow(outcomes, content, standings)
  for (const [i, recipient] of recipients.entries()) {
    const entry = { sinceMs: endedAtMs, cause: SuppressionReason.BOUNCE, isOfTenant: tenantId !== undefined }
    if (ending.outcomes[i]?.entry) suppressed.set(keyOf(recipient, tenantId), entry)
  }
  const row = { ...sendRow(claim), ...ending, sandbox, checks: sandbox ? PASSED : undefined }
  stored.messages++
  stored.events += recipients.length
  const step: TimedStatement = { atMs: endedAtMs, statement: SETTLE, parameters: [JSON.stringify([row]), SHARD, 0] }
  // The dispatch to the first endpoint has the id of its event.
  const dispatchIds = sandbox ? [] : claim.recipients.map(({ eventId }) => idAt(eventId, endedAtMs))
  const attempts = dispatchIds.flatMap((id) => attemptsOf(random, id, endedAtMs, nowMs, stored))
  return { messageId, ends, step, attempts }
}

const keyOf = ({ email }: PlannedRecipient, tenantId = '') => `${tenantId} ${email}`

const PASSED = ['payload', ...CHECKS.map(({ name }) => name)].map((name) => ({ name, passed: true }))

function requestOf({ from, recipients, subject, tag, metadata, body }: PlannedEmail): StoredRequest {
  const isReceipt = tag === 'receipt'
  return {
    from,
    to: recipients.map(({ name, email }) => `${name} <${email}>`),
    subject,
    headers: [],
    attachments: isReceipt
      ? [{ filename: `receipt-${metadata.order}.pdf`, content_type: 'application/pdf', size_bytes: 48_211 }]
      : [],
    metadata,
    tag,
    html: `<p>Hello ${recipients[0]?.name},</p><p>${body}</p><p>The shop</p>`,
    text: `Hello ${recipients[0]?.name},\n\n${body}\n\nThe shop`,
  }
}

interface SentEmail {
  email: PlannedEmail
  messageId: string
  ends: Ended[]
}

/** The late bounce or complaint that arrives on the day after the email, if the plan has one. */
function feedbackOf(
  random: Random,
  { email, messageId, ends }: SentEmail,
  { accountId, nowMs }: DemoAccount,
  suppressed: Map<string, SuppressedAddress>,
  stored: Stored,
): StoredPart[] {
  const { feedback, recipients, tenantId, sandbox, atMs, fromDomain, tag, metadata } = email
  const [[recipient], [end]] = [recipients, ends]
  // In the afternoon of the next day, among many other emails.
  const reportedAtMs = (Math.floor(atMs / DAY_MS) + 1) * DAY_MS + random.whole(10 * HOUR_MS, 16 * HOUR_MS)
  if (!feedback || sandbox || !recipient || !end?.outcome.smtp?.code || reportedAtMs > nowMs - HOUR_MS) return []
  const isComplaint = feedback === 'complaint'
  const cause = isComplaint ? SuppressionReason.COMPLAINT : SuppressionReason.BOUNCE
  suppressed.set(keyOf(recipient, tenantId), { sinceMs: reportedAtMs, cause, isOfTenant: tenantId !== undefined })
  const id = idOf(random, reportedAtMs)
  const row = {
    id,
    message_id: messageId,
    account_id: accountId,
    tenant_id: tenantId,
    domain: fromDomain,
    tag,
    metadata,
    recipient: recipient.email,
    recipient_kind: 'to',
    status: 'delivered',
    kind: feedback,
    reason: isComplaint ? null : 'mailbox_does_not_exist',
    detail: isComplaint ? 'abuse' : `550 5.1.1 <${recipient.email}>: this mailbox was closed`,
    provider: mailboxProvider(recipient.domain.mx),
    refusal: isComplaint ? null : 'unknown',
    address: lowerAscii(recipient.email),
    entry: { reason: isComplaint ? 'complaint' : 'bounce' },
    is_member: false,
    in_statistics: true,
    most_counted: 1,
    reported_at: new Date(reportedAtMs).toISOString(),
  }
  stored.events++
  const step: TimedStatement = { atMs: reportedAtMs, statement: KEEP, parameters: [JSON.stringify([row])] }
  return [{ step, attempts: attemptsOf(random, id, reportedAtMs, nowMs, stored) }]
}

/** The attempts of a dispatch up to its acknowledgement. */
function attemptsOf(
  random: Random,
  dispatchId: string,
  bornAtMs: number,
  nowMs: number,
  stored: Stored,
): StoredAttempt[] {
  const attempts = attemptsAt(random, bornAtMs, nowMs)
  stored.attempts += attempts.length
  return attempts.map((attempt) => ({ ...attempt, dispatchId }))
}

/** The ends of attempts. Those of an hour and a number share a statement: a dispatch is in one row of it. */
function attemptSteps({ accountId }: DemoAccount, attempts: readonly StoredAttempt[]): TimedStatement[] {
  const hourOf = ({ startedAtMs }: Attempt) => Math.floor(startedAtMs / HOUR_MS)
  const sorted = attempts.toSorted((a, b) => a.number - b.number)
  const groups = Map.groupBy(sorted, (attempt) => `${attempt.number} ${hourOf(attempt)}`)
  return Array.from(groups.values(), (group) => ({
    atMs: Math.max(...group.map(({ startedAtMs, durationMs }) => startedAtMs + durationMs)),
    statement: END,
    parameters: [JSON.stringify(group.map((attempt) => attemptRow(accountId, attempt)))],
  }))
}

function attemptRow(
  accountId: string,
  { dispatchId, number, startedAtMs, durationMs, nextDelayMs, result }: StoredAttempt,
) {
  return {
    id: dispatchId,
    account_id: accountId,
    number,
    started_ms: startedAtMs,
    finished_ms: startedAtMs + durationMs,
    url_version: 1,
    next_delay_ms: nextDelayMs,
    excerpt_cut: false,
    ...result,
  }
}

/** A UUIDv7 of the time. */
const idOf = (random: Random, atMs: number) =>
  idAt(`${firstIdAt(0).slice(0, 14)}7${random.hex(3)}-8${random.hex(3)}-${random.hex(12)}`, atMs)
