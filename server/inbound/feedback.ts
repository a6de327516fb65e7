import { matchingFormOf, parseMailbox } from '../address.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { newId } from '../db/ids.ts'
import { isExpired } from '../db/retention.ts'
import { hourlyStatistics, SUPPRESSIONS } from '../history/tail.ts'
import { inTime } from '../in-time.ts'
import { REPORT_COUNTS, REPORT_SHARD } from '../reputation/counts.ts'
import { strikeOfBounce } from '../reputation/strikes.ts'
import { saysUserUnknown } from '../smtp/rules.ts'
import type { Failure } from './diagnosis.ts'
import type { Report } from './report.ts'

/** What became of a report. */
export type Kept =
  | 'kept'
  /** It has come before. */
  | 'known'
  /** Nobody whom the message was delivered to, or it was never sent: a dry run, the simulator. */
  | 'nobody'
  /** The message is over 90 days old, or there is none. */
  | 'unknown'
  /** Its outcome is not stored yet: to be asked again. */
  | 'running'

interface Message {
  isRunning: boolean
  /** null when it is not in history. */
  accountId: string | null
  tenantId: string | null
  sandbox: boolean
  from: string
  /** Who may have received it. */
  recipients: string[]
}

// Both places in one statement: between two, a message could go from one to the other.
export const MESSAGE = `
  select exists (select from open_messages where id = $1) as "isRunning", account_id as "accountId", tenant_id as "tenantId", sandbox,
    request ->> 'from' as "from", (
      select coalesce(json_agg(email order by position), '[]') from recipients
      where message_id = $1 and (status = 'delivered' or in_doubt) and email not like '%@simulator.test'
    ) as recipients
  from (values (1)) as asked left join messages on id = $1`

// Beside the message, once for each recipient and kind; what it means for the address and for the domain is in the same commit.
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

/** Keeps what is reported of a message. When it throws nobody knows whether it is kept; asking again is safe. */
export function feedbackStep({ db, clock }: { db: Database; clock: DatabaseClock }) {
  const run = <T extends object>(statement: string, parameters: string[]) =>
    inTime(db.$client.unsafe<T[]>(statement, parameters), STATEMENT_MS)

  return async (messageId: string, report: Report): Promise<Kept> => {
    if (isExpired(messageId, clock)) return 'unknown'
    const [message] = await run<Message>(MESSAGE, [messageId])
    const { isRunning, accountId: account_id, tenantId: tenant_id, sandbox, from, recipients } = message!
    if (isRunning) return 'running'
    if (account_id === null) return 'unknown'
    const said = sandbox ? [] : feedbackOf(report, recipients)
    if (said.length === 0) return 'nobody'
    const of = { message_id: messageId, account_id, tenant_id, domain: parseMailbox(from)!.domain }
    const rows = said.map((each) => ({ id: newId(clock.now()), ...of, ...each }))
    const kept = await run(KEEP, [JSON.stringify(rows)])
    return kept.length > 0 ? 'kept' : 'known'
  }
}

function feedbackOf(report: Report, recipients: string[]) {
  if (report.kind === 'complaint') {
    const recipient = whoIs(report.addresses, recipients)
    const complaint = { kind: 'complaint', detail: report.type, strike: 'complaint' }
    return recipient === undefined ? [] : [{ ...complaint, recipient, strike_email: recipient.toLowerCase() }]
  }
  const found = new Map<string, Failure>()
  for (const failure of report.failures) {
    const recipient = whoIs(failure.addresses, recipients)
    if (recipient !== undefined && !found.has(recipient)) found.set(recipient, failure)
  }
  return [...found].map(([recipient, { reason, enhanced, detail }]) => ({
    kind: 'bounce',
    recipient,
    reason,
    detail: detail || null,
    strike: strikeOfBounce(reason, { enhanced, saysUserUnknown: saysUserUnknown(detail) }),
    strike_email: recipient.toLowerCase(),
  }))
}

/** A report may name an address that the recipient forwards to, or hide it: of the only one it is told all the same. */
function whoIs(addresses: string[], recipients: string[]): string | undefined {
  const forms = recipients.map((recipient) => recipient.toLowerCase())
  const named = addresses.map((address) => forms.indexOf(matchingFormOf(address) ?? '')).find((i) => i >= 0)
  return recipients[named ?? (recipients.length === 1 ? 0 : -1)]
}
