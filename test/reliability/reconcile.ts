import { readFileSync } from 'node:fs'
import { type Book, isAccepted, openBook } from './book.ts'
import { noRecipientAcceptsTwice, oneResponsePerKey } from './keys.ts'
import type { ClientEntry, Logs, MessageRow, Snapshot } from './logs.ts'
import { reconcileWebhooks } from './reconcile-webhooks.ts'
import { type Finding, type Statement, type Violation, violationsOf } from './statements.ts'

/** The statements about sends. Those about webhooks are in reconcile-webhooks.ts. */
const STATEMENTS: Statement<Book>[] = [
  { number: 1, check: responsesAreStored },
  { number: 2, check: statesAreTerminal },
  { number: 3, check: deliveredWasAccepted },
  { number: 4, check: acceptedIsStored },
  { number: 5, check: noRecipientAcceptsTwice },
  { number: 6, check: nothingStaysOpen },
  { number: 7, check: rejectedHasNoRcpt },
  { number: 9, check: oneEventEach },
  { number: 16, check: oneResponsePerKey },
  { number: 18, check: errorsLeaveNothing },
  { number: 22, check: drainsRespondToAll },
  { number: 23, check: onlyDocumentedResponses },
]

/** All violations of statements that the logs of a run show. */
export function reconcile(logs: Logs): Violation[] {
  return [...violationsOf(STATEMENTS, openBook(logs)), ...reconcileWebhooks(logs)]
}

interface SendResponse {
  message_id?: string
  status?: string
  reason?: string
  recipients?: { email: string; status: string; reason?: string }[]
}

function* responsesAreStored({ logs, message, recipientsOf }: Book): Iterable<Finding> {
  for (const entry of logs.requests.filter(({ status }) => status === 200)) {
    const response = entry.body as SendResponse
    const row = message(response.message_id!)
    if (!row) yield ['a response whose message is not stored', entry]
    else if (!agrees(response, row) || row.request !== entry.request)
      yield ['a message stored differently from its response', { entry, row }]
    for (const { email, status, reason = null } of response.recipients ?? []) {
      const recipientRow = recipientsOf(response.message_id!).find((recipient) => recipient.email === email)
      if (recipientRow?.status !== status || recipientRow.reason !== reason)
        yield ['a recipient stored differently from the response', { entry, recipientRow }]
    }
    if (row && entry.readBack && !agrees(entry.readBack.body as SendResponse, row))
      yield ['Get email returned another outcome', entry]
  }
}

function agrees(response: SendResponse, row: MessageRow): boolean {
  return response.message_id === row.id && response.status === row.status && (response.reason ?? null) === row.reason
}

const STATES = ['delivered', 'bounced', 'rejected']

function* statesAreTerminal({ logs, lastSnapshot }: Book): Iterable<Finding> {
  for (const row of [...lastSnapshot.messages, ...lastSnapshot.recipients]) {
    if (!STATES.includes(row.status)) yield ['not a terminal state', row]
  }
  const before = new Map<string, string>()
  for (const snapshot of logs.database) {
    const now = statesIn(snapshot)
    for (const [id, state] of before) {
      if (now.get(id) !== state) yield ['a terminal state was left', { id, before: state, after: now.get(id) }]
    }
    for (const [id, state] of now) before.set(id, state)
  }
}

function statesIn({ messages, recipients, events }: Snapshot): Map<string, string> {
  const state = (row: { status: string; reason: string | null }) => `${row.status} ${row.reason}`
  return new Map([
    ...messages.map((row) => [row.id, state(row)] as const),
    ...recipients.map((row) => [`${row.message} ${row.email}`, `${state(row)} ${row.inDoubt}`] as const),
    ...events.map((row) => [row.id, state(row)] as const),
  ])
}

function* deliveredWasAccepted({ lastSnapshot, dotsOf }: Book): Iterable<Finding> {
  for (const row of lastSnapshot.recipients.filter(({ status }) => status === 'delivered')) {
    const dots = dotsOf(row.message).filter(({ to }) => to.includes(row.email))
    if (!dots.some(isAccepted)) yield ['delivered without a reply of 250 to its dot', { row, dots }]
  }
}

function* acceptedIsStored({ logs, message, recipientsOf }: Book): Iterable<Finding> {
  for (const dot of logs.mail.dots) {
    if (!message(dot.message)) yield ['a dot without a stored message', dot]
    for (const email of isAccepted(dot) ? dot.to : []) {
      const row = recipientsOf(dot.message).find((recipient) => recipient.email === email)
      const isTrue = row?.status === 'delivered' || row?.inDoubt
      if (row && !isTrue) yield ['accepted, but neither delivered nor in doubt', { dot, row }]
    }
  }
}

function* nothingStaysOpen({ logs, lastSnapshot, ...book }: Book): Iterable<Finding> {
  for (const row of lastSnapshot.open) yield ['still open after lease and sweep', row]
  const leftOpen = logs.processes.flatMap((process) => (process.event === 'crashed' ? process.open : []))
  for (const [id, rows] of Map.groupBy(leftOpen, (row) => row.message)) {
    const row = book.message(id)
    if (!rows.some(({ marked }) => marked)) {
      if (row) yield ['stored, but without a marker', { rows, row }]
      continue
    }
    if (!row) yield ['removed in spite of a marker', rows]
    for (const recipient of book.recipientsOf(id)) {
      const marked = rows.find(({ email }) => email === recipient.email)?.marked ?? false
      const outcome = `${recipient.status} ${recipient.reason} ${recipient.inDoubt}`
      const expected = marked ? 'bounced connection_timeout true' : 'bounced temporary_failure false'
      if (outcome !== expected)
        yield [`left open ${marked ? 'with' : 'without'} a marker, settled with another outcome`, recipient]
    }
  }
}

function* rejectedHasNoRcpt({ logs, lastSnapshot }: Book): Iterable<Finding> {
  const rcptAddresses = new Set(logs.mail.rcptAddresses)
  for (const row of lastSnapshot.recipients) {
    if (row.status === 'rejected' && rcptAddresses.has(row.email)) yield ['rejected, but its server got a RCPT', row]
  }
}

function* oneEventEach({ lastSnapshot, message, recipientsOf, eventsOf }: Book): Iterable<Finding> {
  for (const { id } of lastSnapshot.messages) {
    const events = eventsOf(id).map((e) => `${e.id} ${e.recipient} ${e.status} ${e.reason}`)
    const expected = recipientsOf(id).map((r) => `${r.event} ${r.email} ${r.status} ${r.reason}`)
    if (expected.length === 0 || events.sort().join() !== expected.sort().join())
      yield ['not one event for each recipient', { id, events, expected }]
  }
  const strays = [...lastSnapshot.events, ...lastSnapshot.recipients].filter((row) => !message(row.message))
  for (const row of strays) yield ['a row without its message', row]
}

function* errorsLeaveNothing({ logs, messagesOf, dotsFor }: Book): Iterable<Finding> {
  for (const [request, tries] of Map.groupBy(logs.requests, (entry) => entry.request)) {
    // Whatever is stored may come from a try without a response, or from a successful one.
    if (!tries.every(({ status }) => status !== undefined && status !== 200)) continue
    const evidence = { tries, messages: messagesOf(request), dots: dotsFor(request) }
    if (evidence.messages.length + evidence.dots.length > 0)
      yield ['a failed request that left something behind', evidence]
  }
}

function* drainsRespondToAll({ logs, entriesOf, recipientsOf }: Book): Iterable<Finding> {
  const signals = new Map<string, 'killed' | 'terminated'>()
  for (const process of logs.processes) {
    if (process.event === 'killed' || process.event === 'terminated') signals.set(process.node, process.event)
    if (process.event === 'terminated') {
      const tries = process.inFlight.flatMap(entriesOf).filter(({ node }) => node === process.node)
      const withoutResponse = tries.filter(({ status }) => status === undefined)
      for (const entry of withoutResponse) yield ['accepted before SIGTERM, but without a response', entry]
    }
    if (process.event !== 'ended') continue
    const cause = signals.get(process.node)
    if (cause === undefined || (cause === 'terminated' && process.how !== 0))
      yield ['a process ended unexpectedly or with an error', process]
  }
  for (const dot of logs.mail.dots.filter(isAccepted)) {
    const tries = entriesOf(dot.request)
    if (tries.length === 0 || !tries.every(({ node }) => signals.get(node) === 'terminated')) continue
    const cut = recipientsOf(dot.message).filter(({ email, inDoubt }) => dot.to.includes(email) && inDoubt)
    if (cut.length > 0) yield ['cut after the dot', { dot, cut }]
  }
}

const DOCUMENTED = [200, 400, 401, 403, 404, 405, 409, 410, 413, 415, 429, 500]
const STACK = /\n\s+at |\.ts:\d+|node_modules/

function* onlyDocumentedResponses({ logs }: Book): Iterable<Finding> {
  for (const entry of logs.requests) {
    if (entry.endedAtMs === undefined) yield ['a request that never ended', entry]
    if (entry.status === undefined) continue
    if (!DOCUMENTED.includes(entry.status)) yield ['an undocumented status', entry]
    if (STACK.test(JSON.stringify(entry.body).replaceAll('\\n', '\n'))) yield ['a stack trace in a response', entry]
    if (entry.status !== 200 && !isErrorBody(entry)) yield ['an error response without an error code', entry]
  }
}

function isErrorBody({ body }: ClientEntry): boolean {
  const { error, message } = (body ?? {}) as { error?: unknown; message?: unknown }
  return typeof error === 'string' && typeof message === 'string'
}

// `node test/reliability/reconcile.ts <logs.json>` reconciles the logs that a run wrote to a file.
if (import.meta.main) {
  const violations = reconcile(JSON.parse(readFileSync(process.argv[2]!, 'utf8')))
  for (const { statement, what, evidence } of violations) {
    console.log(`statement ${statement}: ${what}\n${JSON.stringify(evidence, null, 2)}`)
  }
  console.log(`${violations.length} violations`)
  process.exitCode = violations.length > 0 ? 1 : 0
}
