import { OUR_FAULT } from '../server/ledger/rows.ts'
import { differencesOf } from '../test/faults/stream-readers.ts'
import { isAccepted, openBook } from '../test/reliability/book.ts'
import type { Logs, OpenRow, RecipientRow } from '../test/reliability/logs.ts'
import { reconcile } from '../test/reliability/reconcile.ts'
import type { Finding } from '../test/reliability/statements.ts'
import type { Mailing } from './mailers.ts'

// The law: whatever is killed, nothing is lost, nothing is doubled, and no recipient whose server always says 250 is
// bounced without doubt, except beside others of its message, by a fault of this service that its detail names.
// An outcome is in doubt only after a marker. The stream keeps its order. Nothing is open a minute after the last kill.
// All statements of `docs/reliability.md` hold that the logs can show.

export interface Evidence {
  logs: Logs
  /** The committed markers. */
  markers: { message: string; email: string }[]
  /** What was handed in over SMTP and LMTP. */
  mailings: Mailing[]
  /** What was still open a minute after the last kill. */
  open: OpenRow[]
  /** Keys whose send had no response in the time of the longest call after that. */
  unanswered: string[]
  failedStarts: string[]
  /** The events in the order of the stream. */
  committed: string[]
  readers: Record<string, { received: string[]; refusals: string[] }>
}

export interface Offence {
  what: string
  evidence: unknown
}

/** Everything that breaks the law. */
export function offences(evidence: Evidence): Offence[] {
  const ofStatements = reconcile(evidence.logs).map((violation) => ({
    what: `statement ${violation.statement}: ${violation.what}`,
    evidence: violation.evidence,
  }))
  const ofKills = [outcomes, mailedOnce, finalReplies, markersFirst, nothingOpen, streams].flatMap((check) =>
    Array.from(check(evidence), ([what, evidence]) => ({ what, evidence })),
  )
  return [...ofStatements, ...ofKills]
}

function* outcomes({ logs }: Evidence): Iterable<Finding> {
  const { lastSnapshot, recipientsOf } = openBook(logs)
  for (const row of lastSnapshot.recipients) {
    if (row.status === 'delivered' || row.inDoubt) continue
    if (!isOurs(row)) yield ['an outcome that no server gave: they always say 250', row]
    else if (recipientsOf(row.message).every(isOurs))
      yield ['a fault of this service is the outcome of a whole message', row]
  }
}

const isOurs = ({ status, reason, inDoubt, detail }: RecipientRow) =>
  status === 'bounced' && reason === 'temporary_failure' && !inDoubt && (detail?.startsWith(OUR_FAULT) ?? false)

/** No address has two letters: statements 5 and 37, through every door. */
function* mailedOnce({ logs }: Evidence): Iterable<Finding> {
  const accepted = logs.mail.dots.filter(isAccepted).flatMap((dot) => dot.to.map((email) => ({ email, dot })))
  for (const [email, twice] of Map.groupBy(accepted, ({ email }) => email))
    if (twice.length > 1) yield [`mailed ${twice.length} times`, { email, dots: twice.map(({ dot }) => dot) }]
}

const DELIVERED = /^250[ -]/
const IN_DOUBT = /^550[ -]5\.4\.7 /

/** What a mail was told of its recipients is what became of them. */
function* finalReplies({ logs, mailings }: Evidence): Iterable<Finding> {
  const rows = Map.groupBy(openBook(logs).lastSnapshot.recipients, ({ email }) => email)
  for (const { door, to, replies } of mailings) {
    for (const [email, reply] of Object.entries(replies)) {
      const stored = rows.get(email) ?? []
      const isOwn = door === 'lmtp' || to.length === 1
      const isTrue = DELIVERED.test(reply)
        ? stored.some(({ status, inDoubt }) => status === 'delivered' || (!isOwn && inDoubt))
        : IN_DOUBT.test(reply) && stored.some(({ inDoubt }) => inDoubt)
      if (!isTrue) yield ['a reply that is not what became of the recipient', { email, reply, stored }]
    }
  }
}

function* markersFirst({ logs, markers }: Evidence): Iterable<Finding> {
  const marked = new Set(markers.map(({ message, email }) => `${message} ${email}`))
  const isMarked = (message: string, email: string) => marked.has(`${message} ${email}`)
  for (const row of openBook(logs).lastSnapshot.recipients)
    if (row.inDoubt && !isMarked(row.message, row.email)) yield ['in doubt without a marker', row]
  for (const dot of logs.mail.dots)
    if (!dot.to.every((email) => isMarked(dot.message, email))) yield ['a dot without a marker', dot]
}

function* nothingOpen({ open, unanswered, failedStarts }: Evidence): Iterable<Finding> {
  for (const row of open) yield ['still open a minute after the last kill', row]
  for (const key of unanswered) yield ['a send with a key that got no response', key]
  for (const start of failedStarts) yield ['a start that gave up', start]
}

function* streams({ committed, readers }: Evidence): Iterable<Finding> {
  for (const [name, { received, refusals }] of Object.entries(readers)) {
    for (const refusal of refusals) yield [`the stream over ${name} was refused`, refusal]
    for (const difference of differencesOf(received, committed)) {
      const missed = committed.filter((id) => !received.includes(id)).slice(0, 5)
      yield [`the stream over ${name}: ${difference}`, { missed, readers: received.length, stored: committed.length }]
    }
  }
}
