import { readFileSync } from 'node:fs'
import { type Book, isYes, openBook } from './book.ts'
import { nobodyAcceptsTwice, oneAnswerForAKey } from './keys.ts'
import type { ClientEntry, Logs, MessageRow, Snapshot } from './logs.ts'
import { reconcileWebhooks } from './reconcile-webhooks.ts'
import { type Finding, type Statement, type Violation, violationsOf } from './statements.ts'

/** The statements about sends; those about webhooks are in reconcile-webhooks.ts. */
const STATEMENTS: Statement<Book>[] = [
  { number: 1, check: answersAreStored },
  { number: 2, check: statesAreTerminal },
  { number: 3, check: deliveredWasSaid },
  { number: 4, check: acceptedIsStored },
  { number: 5, check: nobodyAcceptsTwice },
  { number: 6, check: nothingStaysOpen },
  { number: 7, check: rejectedIsNeverNamed },
  { number: 9, check: oneEventEach },
  { number: 16, check: oneAnswerForAKey },
  { number: 18, check: errorsLeaveNothing },
  { number: 22, check: drainsAnswerAll },
  { number: 23, check: onlyDocumentedAnswers },
]

/** Everything in the logs of a run that contradicts a statement. */
export function reconcile(logs: Logs): Violation[] {
  return [...violationsOf(STATEMENTS, openBook(logs)), ...reconcileWebhooks(logs)]
}

interface Answer {
  message_id?: string
  status?: string
  reason?: string
  recipients?: { email: string; status: string; reason?: string }[]
}

function* answersAreStored({ logs, message, recipientsOf }: Book): Iterable<Finding> {
  for (const entry of logs.requests.filter(({ status }) => status === 200)) {
    const answer = entry.body as Answer
    const row = message(answer.message_id!)
    if (!row) yield ['an answer whose message is not stored', entry]
    else if (!agrees(answer, row) || row.request !== entry.request) yield ['stored otherwise', { entry, row }]
    for (const { email, status, reason = null } of answer.recipients ?? []) {
      const found = recipientsOf(answer.message_id!).find((recipient) => recipient.email === email)
      if (found?.status !== status || found.reason !== reason) yield ['a recipient stored otherwise', { entry, found }]
    }
    if (row && entry.readBack && !agrees(entry.readBack.body as Answer, row)) yield ['read back otherwise', entry]
  }
}

function agrees(answer: Answer, row: MessageRow): boolean {
  return answer.message_id === row.id && answer.status === row.status && (answer.reason ?? null) === row.reason
}

const STATES = ['delivered', 'bounced', 'rejected']

function* statesAreTerminal({ logs, stored }: Book): Iterable<Finding> {
  for (const row of [...stored.messages, ...stored.recipients]) {
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

function* deliveredWasSaid({ stored, dotsOf }: Book): Iterable<Finding> {
  for (const row of stored.recipients.filter(({ status }) => status === 'delivered')) {
    const dots = dotsOf(row.message).filter(({ to }) => to.includes(row.email))
    if (!dots.some(isYes)) yield ['delivered without a 250 to its dot', { row, dots }]
  }
}

function* acceptedIsStored({ logs, message, recipientsOf }: Book): Iterable<Finding> {
  for (const dot of logs.mail.dots) {
    if (!message(dot.message)) yield ['a dot without a stored message', dot]
    for (const email of isYes(dot) ? dot.to : []) {
      const row = recipientsOf(dot.message).find((recipient) => recipient.email === email)
      const isTrue = row?.status === 'delivered' || row?.inDoubt
      if (row && !isTrue) yield ['accepted, but neither delivered nor in doubt', { dot, row }]
    }
  }
}

function* nothingStaysOpen({ logs, stored, ...book }: Book): Iterable<Finding> {
  for (const row of stored.open) yield ['still open after lease and sweep', row]
  const left = logs.processes.flatMap((process) => (process.event === 'crashed' ? process.open : []))
  for (const [id, rows] of Map.groupBy(left, (row) => row.message)) {
    const row = book.message(id)
    if (!rows.some(({ marked }) => marked)) {
      if (row) yield ['no marker, yet stored', { rows, row }]
      continue
    }
    if (!row) yield ['a marker, yet gone', rows]
    for (const recipient of book.recipientsOf(id)) {
      const marked = rows.find(({ email }) => email === recipient.email)?.marked ?? false
      const word = `${recipient.status} ${recipient.reason} ${recipient.inDoubt}`
      const expected = marked ? 'bounced connection_timeout true' : 'bounced temporary_failure false'
      if (word !== expected) yield [`left behind ${marked ? 'marked' : 'unmarked'}, settled otherwise`, recipient]
    }
  }
}

function* rejectedIsNeverNamed({ logs, stored }: Book): Iterable<Finding> {
  const named = new Set(logs.mail.named)
  for (const row of stored.recipients) {
    if (row.status === 'rejected' && named.has(row.email)) yield ['rejected, but its server was asked', row]
  }
}

function* oneEventEach({ stored, message, recipientsOf, eventsOf }: Book): Iterable<Finding> {
  for (const { id } of stored.messages) {
    const told = eventsOf(id).map((e) => `${e.id} ${e.recipient} ${e.status} ${e.reason}`)
    const expected = recipientsOf(id).map((r) => `${r.event} ${r.email} ${r.status} ${r.reason}`)
    if (expected.length === 0 || told.sort().join() !== expected.sort().join())
      yield ['not one event for each recipient', { id, told, expected }]
  }
  const strays = [...stored.events, ...stored.recipients].filter((row) => !message(row.message))
  for (const row of strays) yield ['a row without its message', row]
}

function* errorsLeaveNothing({ logs, messagesOf, dotsFor }: Book): Iterable<Finding> {
  for (const [request, tries] of Map.groupBy(logs.requests, (entry) => entry.request)) {
    // A try that was lost, or a later one, may have left what there is.
    if (!tries.every(({ status }) => status !== undefined && status !== 200)) continue
    const evidence = { tries, messages: messagesOf(request), dots: dotsFor(request) }
    if (evidence.messages.length + evidence.dots.length > 0) yield ['an error that left something behind', evidence]
  }
}

function* drainsAnswerAll({ logs, entriesOf, recipientsOf }: Book): Iterable<Finding> {
  const told = new Map<string, 'killed' | 'terminated'>()
  for (const process of logs.processes) {
    if (process.event === 'killed' || process.event === 'terminated') told.set(process.node, process.event)
    if (process.event === 'terminated') {
      const tries = process.inFlight.flatMap(entriesOf).filter(({ node }) => node === process.node)
      const unanswered = tries.filter(({ status }) => status === undefined)
      for (const entry of unanswered) yield ['accepted before SIGTERM and never answered', entry]
    }
    if (process.event !== 'ended') continue
    const cause = told.get(process.node)
    if (cause === undefined || (cause === 'terminated' && process.how !== 0)) yield ['a process ended badly', process]
  }
  for (const dot of logs.mail.dots.filter(isYes)) {
    if (!entriesOf(dot.request).every(({ node }) => told.get(node) === 'terminated')) continue
    const cut = recipientsOf(dot.message).filter(({ email, inDoubt }) => dot.to.includes(email) && inDoubt)
    if (cut.length > 0) yield ['cut after the dot', { dot, cut }]
  }
}

const DOCUMENTED = [200, 400, 401, 403, 404, 405, 409, 410, 413, 415, 429, 500]
const STACK = /\n\s+at |\.ts:\d+|node_modules/

function* onlyDocumentedAnswers({ logs }: Book): Iterable<Finding> {
  for (const entry of logs.requests) {
    if (entry.endedAtMs === undefined) yield ['never ended', entry]
    if (entry.status === undefined) continue
    if (!DOCUMENTED.includes(entry.status)) yield ['an undocumented status', entry]
    if (STACK.test(JSON.stringify(entry.body).replaceAll('\\n', '\n'))) yield ['a stack in an answer', entry]
    if (entry.status !== 200 && !isErrorBody(entry)) yield ['an error without its word', entry]
  }
}

function isErrorBody({ body }: ClientEntry): boolean {
  const { error, message } = (body ?? {}) as { error?: unknown; message?: unknown }
  return typeof error === 'string' && typeof message === 'string'
}

// `node test/reliability/reconcile.ts <logs.json>`: the same over the logs that a run wrote down.
if (import.meta.main) {
  const violations = reconcile(JSON.parse(readFileSync(process.argv[2]!, 'utf8')))
  for (const { statement, what, evidence } of violations) {
    console.log(`statement ${statement}: ${what}\n${JSON.stringify(evidence, null, 2)}`)
  }
  console.log(`${violations.length} violations`)
  process.exitCode = violations.length > 0 ? 1 : 0
}
