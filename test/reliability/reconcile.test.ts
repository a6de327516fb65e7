import { expect, test } from 'vitest'
import type { ClientEntry, Dot, Logs, Snapshot } from './logs.ts'
import { reconcile } from './reconcile.ts'

/** Two requests in perfect order: one to two recipients, delivered and rejected, and one that was refused. */
function perfect() {
  const request: ClientEntry = {
    request: 'one',
    node: 'a',
    to: ['ann@one.example', 'bob@printer.local'],
    sentAtMs: 1,
    endedAtMs: 9,
    status: 200,
    body: {
      message_id: 'msg_1',
      status: 'rejected',
      reason: 'invalid_address',
      recipients: [
        { email: 'ann@one.example', status: 'delivered' },
        { email: 'bob@printer.local', status: 'rejected', reason: 'invalid_address' },
      ],
    },
  }
  const refused: ClientEntry = {
    ...request,
    request: 'two',
    status: 500,
    body: { error: 'transient_failure', message: 'Nothing was sent.' },
  }
  const dot: Dot = { message: 'msg_1', request: 'one', to: ['ann@one.example'], reply: 250, atMs: 5 }
  const row = { message: 'msg_1', inDoubt: false }
  const ann = { ...row, event: 'evt_1', email: 'ann@one.example', status: 'delivered', reason: null }
  const bob = { ...row, event: 'evt_2', email: 'bob@printer.local', status: 'rejected', reason: 'invalid_address' }
  const stored: Snapshot = {
    atMs: 10,
    messages: [{ id: 'msg_1', request: 'one', status: 'rejected', reason: 'invalid_address' }],
    recipients: [ann, bob],
    events: [
      { id: 'evt_1', message: 'msg_1', recipient: ann.email, status: 'delivered', reason: null },
      { id: 'evt_2', message: 'msg_1', recipient: bob.email, status: 'rejected', reason: bob.reason },
    ],
    open: [],
  }
  const logs: Logs = {
    requests: [request, refused],
    mail: { named: ['ann@one.example'], dots: [dot] },
    database: [structuredClone(stored), stored],
    processes: [{ node: 'a', atMs: 0, event: 'started' }],
  }
  return { logs, request, refused, dot, stored, ann: stored.recipients[0]!, bob: stored.recipients[1]! }
}

type Run = ReturnType<typeof perfect>

/** What two rows left behind by a crash must have become. */
function crash({ logs, request, stored }: Run, marked: [ann: boolean, bob: boolean]): Snapshot {
  const row = { message: 'msg_1', request: 'one', claim: 'c' }
  const open = request.to.map((email, i) => ({ ...row, email, marked: marked[i]! }))
  logs.processes.push({ node: 'a', atMs: 6, event: 'crashed', open })
  logs.database.shift()
  Object.assign(request, { status: undefined, body: undefined, lost: 'ECONNRESET' })
  for (const [i, recipient] of stored.recipients.entries()) {
    const reason = marked[i] ? 'connection_timeout' : 'temporary_failure'
    Object.assign(recipient, { status: 'bounced', reason, inDoubt: marked[i] })
    Object.assign(stored.events[i]!, { status: 'bounced', reason })
  }
  return stored
}

test('a perfect run has no violations', () => {
  expect(reconcile(perfect().logs)).toEqual([])
})

test('a crash that left what it must has no violations', () => {
  const run = perfect()
  crash(run, [true, false])
  expect(reconcile(run.logs)).toEqual([])
})

const BROKEN: [statement: number, how: string, breakIt: (run: Run) => unknown][] = [
  [1, 'an answer without a stored message', ({ request }) => Object.assign(request.body!, { message_id: 'msg_9' })],
  [1, 'an answer with another reason', ({ request }) => Object.assign(request.body!, { reason: 'suppression_list' })],
  [1, 'a recipient answered otherwise', ({ bob }) => Object.assign(bob, { reason: 'suppression_list' })],
  [1, 'read back otherwise', ({ request }) => Object.assign(request, { readBack: { status: 404, body: {} } })],
  [2, 'an outcome that changed', ({ logs }) => Object.assign(logs.database[0]!.messages[0]!, { reason: null })],
  [2, 'a message that vanished', ({ logs }) => logs.database[0]!.messages.push({ ...MESSAGE, id: 'msg_2' })],
  [2, 'a state that is none', ({ stored }) => Object.assign(stored.messages[0]!, { status: 'sending' })],
  [3, 'delivered, and the dot was refused', ({ dot }) => Object.assign(dot, { reply: 451 })],
  [3, 'delivered, and only the dot of another came', ({ dot }) => Object.assign(dot, { to: ['zoe@one.example'] })],
  [4, 'a ghost', ({ logs, dot }) => logs.mail.dots.push({ ...dot, message: 'msg_7', request: 'seven' })],
  [4, 'accepted and called bounced', ({ ann }) => Object.assign(ann, { status: 'bounced' })],
  [5, 'accepted twice', ({ logs, dot }) => logs.mail.dots.push(dot)],
  [5, 'two messages of one request', ({ stored }) => stored.messages.push({ ...MESSAGE, id: 'msg_2' })],
  [
    5,
    'two messages of one key',
    (run) => run.stored.messages.push({ ...MESSAGE, id: 'msg_2', request: repeat(run).request }),
  ],
  [5, 'accepted twice under one key', (run) => run.logs.mail.dots.push({ ...run.dot, request: repeat(run).request })],
  [16, 'another answer to the same key', (run) => Object.assign(repeat(run), { body: { message_id: 'msg_2' } })],
  [6, 'a send that stays open', ({ stored }) => stored.open.push({ ...OPEN, marked: false })],
  [6, 'stored without a marker', (run) => crash(run, [false, false])],
  [6, 'gone in spite of a marker', (run) => Object.assign(crash(run, [true, false]), { messages: [] })],
  [6, 'in doubt without a marker', (run) => Object.assign(crash(run, [true, false]).recipients[1]!, { inDoubt: true })],
  [7, 'rejected, and named to a server', ({ logs }) => logs.mail.named.push('bob@printer.local')],
  [9, 'an event too few', ({ stored }) => stored.events.pop()],
  [9, 'an event too many', ({ stored }) => stored.events.push({ ...stored.events[0]!, id: 'evt_9' })],
  [9, 'an event that says something else', ({ stored }) => Object.assign(stored.events[0]!, { status: 'bounced' })],
  [9, 'an event of no message', ({ stored }) => stored.events.push({ ...stored.events[0]!, message: 'msg_9' })],
  [18, 'a 500 that mailed', ({ dot }) => Object.assign(dot, { request: 'two' })],
  [18, 'a 500 that left a message', ({ stored }) => stored.messages.push({ ...MESSAGE, id: 'msg_2', request: 'two' })],
  [22, 'accepted and never answered', (run) => Object.assign(terminate(run, 'one').request, { status: undefined })],
  [22, 'cut after the dot', (run) => Object.assign(terminate(run).ann, { inDoubt: true })],
  [22, 'a drain that failed', (run) => terminate(run).logs.processes.push({ ...ENDED, how: 1 })],
  [22, 'a process that ended by itself', ({ logs }) => logs.processes.push({ ...ENDED, how: 0 })],
  [23, 'an undocumented status', ({ refused }) => Object.assign(refused, { status: 502 })],
  [
    23,
    'a stack',
    ({ refused }) => Object.assign(refused.body!, { message: 'Error: x\n    at send (/app/send.js:1:1)' }),
  ],
  [23, 'an error that is not one', ({ refused }) => Object.assign(refused, { body: 'Bad Gateway' })],
  [23, 'a request that never ended', ({ refused }) => Object.assign(refused, { endedAtMs: undefined })],
]

const MESSAGE = { id: '', request: 'one', status: 'rejected', reason: 'invalid_address' }
const OPEN = { message: 'msg_3', request: 'three', email: 'ann@one.example', claim: 'c' }
const ENDED = { node: 'a', atMs: 9, event: 'ended' as const }

/** Another request with the key of the first. */
function repeat({ logs, request }: Run): ClientEntry {
  request.key = 'key'
  const entry = { ...request, request: 'another' }
  logs.requests.push(entry)
  return entry
}

function terminate(run: Run, ...inFlight: string[]): Run {
  run.logs.processes.push({ node: 'a', atMs: 8, event: 'terminated', inFlight })
  return run
}

test.each(BROKEN)('statement %i is seen to be broken: %s', (statement, _, breakIt) => {
  const run = perfect()
  breakIt(run)
  const found = reconcile(run.logs)
  expect(found.map((violation) => violation.statement)).toContain(statement)
})
