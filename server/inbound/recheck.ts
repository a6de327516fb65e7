import type { Phase } from '../../mail/smtp/attempt.ts'
import { classify } from '../../mail/smtp/classify.ts'
import { toReply } from '../../mail/smtp/reply.ts'
import { readAs } from '../../mail/smtp/rules.ts'
import type { Database } from '../db/connect.ts'
import { firstIdAt, timeOfId } from '../db/ids.ts'
import { matchingSql } from '../db/matching-sql.ts'
import { inMs, run } from '../db/statement.ts'
import { dueEntry, isAboutMailbox, KNOWN_DAYS, kindOfReading, type Refusal } from '../reputation/incidents.ts'
import { provesLife } from '../reputation/standings.ts'
import { diagnose } from './diagnosis.ts'

// Judges the replies that created suppression entries again, by the rules of today. An earlier release took some
// replies about the sender for replies about the mailbox.

/** An entry that today's rules would not create, or that would have expired. */
export interface DoubtfulEntry {
  id: string
  accountId: string
  tenantId: string
  email: string
  createdAt: Date
  /** The reply that created it, and how it is read today. */
  reply: string
  readAs: string
}

export interface Recheck {
  /** How many entries were judged. */
  judged: number
  /** How many entries stay because their reply is no longer stored. */
  unknown: number
  doubtful: DoubtfulEntry[]
}

interface Scope {
  accountId?: string
  since?: Date
}

interface Entry {
  id: string
  accountId: string
  tenantId: string
  email: string
  createdAtMs: number
}

interface StoredReply {
  eventId: string
  messageId: string
  domain: string
  /** That of the outcome which was stored. */
  reason: string | null
  smtp: { mx?: string; code?: number; enhanced?: string; reply?: string; phase?: string } | null
  /** The text of a late bounce. */
  detail: string | null
}

const PAGE = 200
const DAY_MS = 86_400_000
/** Refusals count together within this time. */
const WINDOW_MS = KNOWN_DAYS * DAY_MS
/** The message of an entry is a little older than the entry, and its event may be a little younger. */
const SLACK_MS = 3_600_000

const ENTRIES = `
  select id, account_id as "accountId", tenant_id as "tenantId", email,
    ${inMs('created_at')} as "createdAtMs"
  from suppressions
  where reason = 'bounce' and message_id is not null and id > $1
    and ($2::uuid is null or account_id = $2) and created_at >= $3::timestamptz
  order by id limit ${PAGE}`

// The events of what was delivered to an address for any tenant.
const DELIVERIES = `
  select r.event_id as "eventId"
  from recipients r join messages m on m.id = r.message_id
  where r.account_id = $1 and r.message_id between $3 and $4 and m.id between $3 and $4 and ${provesLife('$2')}
  order by r.event_id desc limit 1000`

// The replies to the address of one list, in the time in which refusals count together.
const REPLIES = `
  select r.event_id as "eventId", r.message_id as "messageId", m.domain, r.reason, r.smtp, null as detail
  from recipients r join messages m on m.id = r.message_id
  where r.account_id = $1 and ${matchingSql('r.email')} = $2 and r.status = 'bounced' and not r.in_doubt
    and r.message_id between $4 and $5 and m.id between $4 and $5 and coalesce(m.tenant_id, '') = $3
  union all
  select f.id, f.message_id, m.domain, null, null, f.detail
  from feedback f join messages m on m.id = f.message_id
  where f.account_id = $1 and ${matchingSql('f.recipient')} = $2 and f.kind = 'late_bounce' and not f.is_member
    and f.id between $4 and $5
    and coalesce(m.tenant_id, '') = $3`

/** Judges the entries of automatic suppression again. `ours` are our HELO name and source addresses. */
export async function recheckSuppressions(
  db: Database,
  { accountId, since = new Date(0) }: Scope,
  ours: readonly string[],
): Promise<Recheck> {
  const recheck: Recheck = { judged: 0, unknown: 0, doubtful: [] }
  let after = firstIdAt(0)
  for (;;) {
    const entries = await run<Entry>(db, ENTRIES, [after, accountId ?? null, since.toISOString()])
    for (const entry of entries) {
      const { createdAtMs } = entry
      const [from, to] = [firstIdAt(createdAtMs - WINDOW_MS - SLACK_MS), firstIdAt(createdAtMs + SLACK_MS)]
      const { email, tenantId } = entry
      const replies = await run<StoredReply>(db, REPLIES, [entry.accountId, email, tenantId, from, to])
      const deliveries = await run<{ eventId: string }>(db, DELIVERIES, [entry.accountId, email, from, to])
      const deliveredMs = deliveries.map(({ eventId }) => timeOfId(eventId))
      const cause = replies.find(({ eventId }) => eventId === entry.id)
      recheck.judged++
      if (!cause) recheck.unknown++
      else if (!wouldHold(entry, replies, deliveredMs, ours))
        recheck.doubtful.push({ ...entry, createdAt: new Date(createdAtMs), ...shownReading(cause, email, ours) })
    }
    const last = entries.at(-1)
    if (!last || entries.length < PAGE) return recheck
    after = last.id
  }
}

/** Whether these replies suffice for an entry that holds now. Deliveries are the newest first. */
function wouldHold(
  { email }: Entry,
  replies: readonly StoredReply[],
  deliveredMs: readonly number[],
  ours: readonly string[],
): boolean {
  const refusals = replies.flatMap((reply): (Refusal & { sentMs: number })[] => {
    const { kind } = readingOf(reply, email, ours)
    return kind ? [{ kind, atMs: timeOfId(reply.eventId), sentMs: timeOfId(reply.messageId) }] : []
  })
  return refusals.some(({ kind, atMs, sentMs }) => {
    const before = refusals.filter((refusal) => refusal.atMs < atMs)
    const lastDeliveredMs = deliveredMs.find((ms) => ms < atMs && ms > atMs - WINDOW_MS)
    const due = dueEntry(kind, { refusals: before, lastDeliveredMs }, atMs, { sentMs })
    return due !== undefined && (due.days === null || atMs + due.days * DAY_MS > Date.now())
  })
}

function shownReading(reply: StoredReply, email: string, ours: readonly string[]) {
  const { code, enhanced, reply: text } = reply.smtp ?? {}
  const shown = reply.detail ?? [code, enhanced, text].filter(Boolean).join(' ')
  return { reply: shown, readAs: readingOf(reply, email, ours).readAs ?? 'nothing' }
}

/** `rcpt` of `SMTP_PHASE_RCPT`. */
const phaseOf = (name = '') => name.replace('SMTP_PHASE_', '').toLowerCase() as Phase

function readingOf({ reason, smtp, detail, domain }: StoredReply, recipient: string, known: readonly string[]) {
  const ours = [...known, domain, `rp.${domain}`]
  if (detail !== null) return diagnose({ recipient, lines: [detail], ours })
  const { code, enhanced = '', reply: text = '', phase, mx = '' } = smtp ?? {}
  if (code === undefined) return {}
  // An earlier release left a status of another class in the text.
  const reply = toReply({ code, lines: [`${enhanced} ${text}`.trim()] })
  const { outcome, reading } = classify({ phase: phaseOf(phase), reply, mx, names: { recipient, ours } })
  const today = reading && readAs(reading)
  // Not every reply decided: it may have been about another recipient, or a fault of ours decided.
  if (!isAboutMailbox(reason)) return { readAs: reading?.kind ? (reason ?? today) : today }
  return { kind: outcome.kind === 'bounced' ? kindOfReading(outcome.reason, today) : undefined, readAs: today }
}
