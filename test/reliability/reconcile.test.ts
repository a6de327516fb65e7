import { expect, test } from 'vitest'
import type { ClientEntry, Dot, Logs, Snapshot } from './logs.ts'
import { reconcile } from './reconcile.ts'

/**
 * The logs of two requests without a violation: one to two recipients, delivered and rejected, and one that failed with
 * 500.
 */
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
  const failedRequest: ClientEntry = {
    ...request,
    request: 'two',
    status: 500,
    body: { error: 'transient_failure', message: 'Nothing was sent.' },
  }
  const dot: Dot = { message: 'msg_1', request: 'one', to: ['ann@one.example'], reply: 250, atMs: 5 }
  const row = { message: 'msg_1', inDoubt: false }
  const ann = { ...row, event: 'evt_1', email: 'ann@one.example', status: 'delivered', reason: null }
  const bob = { ...row, event: 'evt_2', email: 'bob@printer.local', status: 'rejected', reason: 'invalid_address' }
  const lastSnapshot: Snapshot = {
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
    requests: [request, failedRequest],
    mail: { rcptAddresses: ['ann@one.example'], dots: [dot] },
    database: [structuredClone(lastSnapshot), lastSnapshot],
    processes: [{ node: 'a', atMs: 0, event: 'started' }],
  }
  return {
    logs,
    request,
    failedRequest,
    dot,
    lastSnapshot,
    ann: lastSnapshot.recipients[0]!,
    bob: lastSnapshot.recipients[1]!,
  }
}

type Run = ReturnType<typeof perfect>

/** Changes the logs as if a crash had left two rows open and the sweeper had settled them. */
function crash({ logs, request, lastSnapshot }: Run, marked: [ann: boolean, bob: boolean]): Snapshot {
  const row = { message: 'msg_1', request: 'one', claim: 'c' }
  const open = request.to.map((email, i) => ({ ...row, email, marked: marked[i]! }))
  logs.processes.push({ node: 'a', atMs: 6, event: 'crashed', open })
  logs.database.shift()
  Object.assign(request, { status: undefined, body: undefined, lost: 'ECONNRESET' })
  for (const [i, recipient] of lastSnapshot.recipients.entries()) {
    const reason = marked[i] ? 'connection_timeout' : 'temporary_failure'
    Object.assign(recipient, { status: 'bounced', reason, inDoubt: marked[i] })
    Object.assign(lastSnapshot.events[i]!, { status: 'bounced', reason })
  }
  return lastSnapshot
}

test('a run without faults has no violations', () => {
  expect(reconcile(perfect().logs)).toEqual([])
})

test('a recipient who is asked again after a refused dot has no violation', () => {
  const { logs, dot } = perfect()
  logs.mail.dots.unshift({ ...dot, reply: 552 })
  expect(reconcile(logs)).toEqual([])
})

test('a crash whose open rows were settled correctly has no violations', () => {
  const run = perfect()
  crash(run, [true, false])
  expect(reconcile(run.logs)).toEqual([])
})

const BROKEN: [statement: number, how: string, breakIt: (run: Run) => unknown][] = [
  [1, 'a response has no stored message', ({ request }) => Object.assign(request.body!, { message_id: 'msg_9' })],
  [
    1,
    'a response has another reason than the stored message',
    ({ request }) => Object.assign(request.body!, { reason: 'suppression_list' }),
  ],
  [
    1,
    'a recipient in a response has another reason than the stored one',
    ({ bob }) => Object.assign(bob, { reason: 'suppression_list' }),
  ],
  [
    1,
    'Get email does not return the message',
    ({ request }) => Object.assign(request, { readBack: { status: 404, body: {} } }),
  ],
  [2, 'an outcome changes', ({ logs }) => Object.assign(logs.database[0]!.messages[0]!, { reason: null })],
  [2, 'a message vanishes', ({ logs }) => logs.database[0]!.messages.push({ ...MESSAGE, id: 'msg_2' })],
  [
    2,
    'a message has a state that is not terminal',
    ({ lastSnapshot }) => Object.assign(lastSnapshot.messages[0]!, { status: 'sending' }),
  ],
  [3, 'a delivered recipient has a refused dot', ({ dot }) => Object.assign(dot, { reply: 451 })],
  [3, 'a delivered recipient has no dot of its own', ({ dot }) => Object.assign(dot, { to: ['zoe@one.example'] })],
  [
    4,
    'a dot has no stored message',
    ({ logs, dot }) => logs.mail.dots.push({ ...dot, message: 'msg_7', request: 'seven' }),
  ],
  [4, 'an accepted recipient is stored as bounced', ({ ann }) => Object.assign(ann, { status: 'bounced' })],
  [5, 'a recipient accepts a message twice', ({ logs, dot }) => logs.mail.dots.push(dot)],
  [
    5,
    'a dot is sent again after one without a reply',
    ({ logs, dot }) => logs.mail.dots.unshift({ ...dot, reply: null }),
  ],
  [5, 'a request has two messages', ({ lastSnapshot }) => lastSnapshot.messages.push({ ...MESSAGE, id: 'msg_2' })],
  [
    5,
    'a key has two messages',
    (run) => run.lastSnapshot.messages.push({ ...MESSAGE, id: 'msg_2', request: repeat(run).request }),
  ],
  [
    5,
    'a recipient accepts two messages of one key',
    (run) => run.logs.mail.dots.push({ ...run.dot, request: repeat(run).request }),
  ],
  [
    16,
    'two requests with one key get different responses',
    (run) => Object.assign(repeat(run), { body: { message_id: 'msg_2' } }),
  ],
  [6, 'a send stays open', ({ lastSnapshot }) => lastSnapshot.open.push({ ...OPEN, marked: false })],
  [6, 'a message without a marker is stored', (run) => crash(run, [false, false])],
  [6, 'a message with a marker is removed', (run) => Object.assign(crash(run, [true, false]), { messages: [] })],
  [
    6,
    'a recipient without a marker is in doubt',
    (run) => Object.assign(crash(run, [true, false]).recipients[1]!, { inDoubt: true }),
  ],
  [7, 'a rejected recipient is in a RCPT command', ({ logs }) => logs.mail.rcptAddresses.push('bob@printer.local')],
  [9, 'an event is missing', ({ lastSnapshot }) => lastSnapshot.events.pop()],
  [
    9,
    'a recipient has two events',
    ({ lastSnapshot }) => lastSnapshot.events.push({ ...lastSnapshot.events[0]!, id: 'evt_9' }),
  ],
  [
    9,
    'an event has another status than its recipient',
    ({ lastSnapshot }) => Object.assign(lastSnapshot.events[0]!, { status: 'bounced' }),
  ],
  [
    9,
    'an event has no message',
    ({ lastSnapshot }) => lastSnapshot.events.push({ ...lastSnapshot.events[0]!, message: 'msg_9' }),
  ],
  [18, 'a request with a response of 500 sent mail', ({ dot }) => Object.assign(dot, { request: 'two' })],
  [
    18,
    'a request with a response of 500 left a message',
    ({ lastSnapshot }) => lastSnapshot.messages.push({ ...MESSAGE, id: 'msg_2', request: 'two' }),
  ],
  [
    22,
    'a request accepted before SIGTERM gets no response',
    (run) => Object.assign(terminate(run, 'one').request, { status: undefined }),
  ],
  [22, 'a message is cut after the dot', (run) => Object.assign(terminate(run).ann, { inDoubt: true })],
  [
    22,
    'a process exits with an error after SIGTERM',
    (run) => terminate(run).logs.processes.push({ ...ENDED, how: 1 }),
  ],
  [22, 'a process exits without a signal', ({ logs }) => logs.processes.push({ ...ENDED, how: 0 })],
  [23, 'a response has an undocumented status', ({ failedRequest }) => Object.assign(failedRequest, { status: 502 })],
  [
    23,
    'a response contains a stack trace',
    ({ failedRequest }) => Object.assign(failedRequest.body!, { message: 'Error: x\n    at send (/app/send.js:1:1)' }),
  ],
  [
    23,
    'an error response has no error code',
    ({ failedRequest }) => Object.assign(failedRequest, { body: 'Bad Gateway' }),
  ],
  [23, 'a request never ends', ({ failedRequest }) => Object.assign(failedRequest, { endedAtMs: undefined })],
]

const MESSAGE = { id: '', request: 'one', status: 'rejected', reason: 'invalid_address' }
const OPEN = { message: 'msg_3', request: 'three', email: 'ann@one.example', claim: 'c' }
const ENDED = { node: 'a', atMs: 9, event: 'ended' as const }

/** Adds another request with the key of the first. */
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

test.each(BROKEN)('the reconciler finds a violation of statement %i: %s', (statement, _, breakIt) => {
  const run = perfect()
  breakIt(run)
  const violations = reconcile(run.logs)
  expect(violations.map((violation) => violation.statement)).toContain(statement)
})
