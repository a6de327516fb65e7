import { expect, test } from 'vitest'
import { newSecret, signedHeaders } from '../../server/webhooks/attempt/signature.ts'
import type { DispatchRow, Logs, PostEntry, Snapshot, WebhookRows } from './logs.ts'
import { reconcileWebhooks } from './reconcile-webhooks.ts'

const T = 1_790_000_000_000
const URL = 'http://127.0.0.1:1/hook'
const ELSEWHERE = 'http://127.0.0.1:2/hook'
const FIRST = newSecret()
const SECOND = newSecret()
const BODY = Buffer.from(
  JSON.stringify({ event_id: 'evt_1', message_id: 'msg_1', recipient: 'ann@one.example', status: 'delivered' }),
)

/** A POST as the product sends it, signed with these secrets. */
function post(dispatchId: string, attempt: number, arrivedMs: number, status: number, secrets = [FIRST]): PostEntry {
  const [secret, previousSecret] = secrets as [string, string?]
  const timestamp = Math.floor(arrivedMs / 1_000)
  const headers = signedHeaders({
    body: BODY,
    eventId: 'evt_1',
    dispatchId,
    attempt,
    timestamp,
    secret,
    previousSecret,
  })
  return {
    url: URL,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    body: BODY.toString('base64'),
    arrivedMs,
    status,
    respondedMs: arrivedMs + 5,
  }
}

/**
 * The logs of one event without a violation: its first attempt fails, its second is lost by a killed process and made
 * again, and acknowledged. It is replayed after the secret is rotated.
 */
function perfect() {
  const dispatch = { event: 'evt_1', message: 'msg_1', account: 'acc', endpoint: 'whk_1', state: 'acknowledged' }
  const original: DispatchRow = { ...dispatch, id: 'dsp_1', kind: 'original', createdMs: T, endedMs: T + 2_000 }
  const replay: DispatchRow = { ...dispatch, id: 'dsp_2', kind: 'replay', createdMs: T + 9_000, endedMs: T + 9_100 }
  const row = (id: string, number: number, outcome: string, status: number | null, finishedMs: number | null) => {
    return { dispatch: id, number, outcome, status, finishedMs }
  }
  const waitingDispatch: DispatchRow = {
    ...original,
    state: 'waiting',
    endedMs: undefined,
    next: { attempt: 2, dueMs: T + 600, handedOver: true },
  }
  const failedAttempt = row('dsp_1', 1, 'not_200', 503, T + 100)
  const event = { id: 'evt_1', message: 'msg_1', recipient: 'ann@one.example', status: 'delivered', reason: null }
  const outcome = { message: 'msg_1', event: 'evt_1', email: event.recipient, status: 'delivered', reason: null }
  const lastRows: WebhookRows = {
    nowMs: T + 20_000,
    events: [{ id: 'evt_1', account: 'acc', status: 'delivered', createdMs: T }],
    dispatches: [original, replay],
    attempts: [
      failedAttempt,
      row('dsp_1', 2, 'unknown', null, null),
      row('dsp_1', 2, 'acked', 200, T + 2_000),
      row('dsp_2', 1, 'acked', 200, T + 9_100),
    ],
  }
  const early: WebhookRows = { ...lastRows, nowMs: T + 300, dispatches: [waitingDispatch], attempts: [failedAttempt] }
  const snapshot = (webhooks: WebhookRows): Snapshot => {
    return { atMs: 0, messages: [], recipients: [{ ...outcome, inDoubt: false }], events: [event], open: [], webhooks }
  }
  const posts = [
    post('dsp_1', 1, T + 50, 503),
    post('dsp_1', 2, T + 700, 200),
    post('dsp_1', 2, T + 1_900, 200),
    post('dsp_2', 1, T + 9_050, 200, [SECOND, FIRST]),
  ]
  const acceptedReplay = { replayed: true, event_id: 'evt_1', message_id: 'msg_1', dispatch_id: 'dsp_2' }
  const replayEntry = { of: 'evt_1', sentAtMs: 9_000, status: 200, body: acceptedReplay }
  const logs: Logs = {
    requests: [],
    mail: {
      rcptAddresses: [],
      dots: [{ message: 'msg_1', request: 'one', to: [event.recipient], reply: 250, atMs: 40 }],
    },
    database: [snapshot(early), snapshot(lastRows)],
    processes: [],
    webhooks: {
      scheduleMs: [0, 500, 1_000],
      posts,
      endpoints: [
        { account: 'acc', endpoint: 'whk_1', url: URL, secret: FIRST, sentMs: T - 100, respondedMs: T - 90 },
        { account: 'acc', endpoint: 'whk_1', url: URL, secret: SECOND, sentMs: T + 5_000, respondedMs: T + 5_010 },
      ],
      replays: [replayEntry],
    },
  }
  return {
    logs,
    webhooks: logs.webhooks!,
    lastRows,
    early,
    original,
    replay,
    waitingDispatch,
    posts,
    replayEntry,
    event,
    outcome,
  }
}

type Run = ReturnType<typeof perfect>

test('a run without faults has no violations, and neither has a run without receivers', () => {
  expect(reconcileWebhooks(perfect().logs)).toEqual([])
  expect(reconcileWebhooks({ ...perfect().logs, webhooks: undefined })).toEqual([])
})

test('an endpoint that asked for other statuses, or was disabled, needs no dispatch', () => {
  for (const state of [{ statuses: ['bounced'] }, { disabled: true }]) {
    const { logs, webhooks } = perfect()
    webhooks.endpoints.push({ ...webhooks.endpoints[0]!, endpoint: 'whk_2', url: ELSEWHERE, ...state })
    expect(reconcileWebhooks(logs)).toEqual([])
  }
})

test('a dispatch that waits in a workflow until its attempt is due is not a violation', () => {
  const run = perfect()
  waitAgain(run, {})
  expect(reconcileWebhooks(run.logs)).toEqual([])
})

/** Changes the logs as if the last attempt of the original dispatch had failed and the next one were still to come. */
function waitAgain({ lastRows, waitingDispatch, posts, logs }: Run, change: Partial<NonNullable<DispatchRow['next']>>) {
  const next = { attempt: 3, dueMs: lastRows.nowMs + 500, handedOver: true, ...change }
  lastRows.dispatches[0] = { ...waitingDispatch, next }
  Object.assign(lastRows.attempts[2]!, { outcome: 'not_200', status: 503 })
  Object.assign(posts[2]!, { status: 503 })
  return logs
}

function exhaust(run: Run) {
  Object.assign(run.original, { state: 'exhausted' })
  Object.assign(run.lastRows.attempts[2]!, { outcome: 'not_200', status: 503 })
}

function change(entry: PostEntry, headers: Record<string, string>) {
  Object.assign(entry.headers, headers)
}

const BROKEN: [statement: number, how: string, breakIt: (run: Run) => unknown][] = [
  [9, 'an outcome is stored before its event', ({ logs }) => logs.database[0]!.events.pop()],
  [25, 'an event is stored before its dispatch', ({ early }) => early.dispatches.pop()],
  [
    25,
    'an event has two original dispatches',
    ({ lastRows, original }) => lastRows.dispatches.push({ ...original, id: 'dsp_9' }),
  ],
  [
    25,
    'an account without an endpoint has a dispatch',
    ({ webhooks }) => Object.assign(webhooks.endpoints[0]!, { url: undefined }),
  ],
  [
    25,
    'an event has no dispatch to the second of two endpoints',
    ({ webhooks }) => webhooks.endpoints.push({ ...webhooks.endpoints[0]!, endpoint: 'whk_2', url: ELSEWHERE }),
  ],
  [
    25,
    'a dispatch goes to the endpoint of another account',
    ({ webhooks, original }) => {
      webhooks.endpoints.push({ ...webhooks.endpoints[0]!, account: 'other', endpoint: 'whk_2' })
      original.endpoint = 'whk_2'
    },
  ],
  [
    25,
    'an endpoint gets an event with a status that it did not ask for',
    ({ webhooks }) => Object.assign(webhooks.endpoints[0]!, { statuses: ['bounced', 'rejected'] }),
  ],
  [
    25,
    'a disabled endpoint gets an event',
    ({ webhooks }) => Object.assign(webhooks.endpoints[0]!, { disabled: true }),
  ],
  [9, 'a POST has no stored dispatch', ({ posts }) => posts.push(post('dsp_9', 1, T + 60, 200))],
  [9, 'a POST names the dispatch of another event', ({ posts }) => change(posts[0]!, { 'service-event-id': 'evt_2' })],
  [10, 'a dispatch ends in an unknown state', ({ original }) => Object.assign(original, { state: 'lost' })],
  [10, 'no workflow has a waiting dispatch', (run) => waitAgain(run, { handedOver: false })],
  [10, 'an attempt is overdue', (run) => waitAgain(run, { dueMs: T + 1_000 })],
  [10, 'a dispatch waits for a fourth attempt of three', (run) => waitAgain(run, { attempt: 4 })],
  [10, 'a dispatch is exhausted after two attempts of three', (run) => exhaust(run)],
  [10, 'an attempt is skipped', ({ lastRows }) => Object.assign(lastRows.attempts[0]!, { number: 2 })],
  [
    10,
    'a dispatch is waiting and ended at the same time',
    ({ lastRows, waitingDispatch }) => lastRows.dispatches.push(waitingDispatch),
  ],
  [
    10,
    'a dispatch leaves a terminal state',
    ({ early }) => Object.assign(early.dispatches[0]!, { state: 'exhausted', endedMs: T + 5 }),
  ],
  [10, 'a dispatch vanishes', (run) => vanish(run)],
  [
    11,
    'an attempt arrives too early after the previous POST',
    ({ posts }) => Object.assign(posts[1]!, { arrivedMs: T + 400 }),
  ],
  [
    11,
    'an attempt arrives too early after the end of the previous attempt',
    ({ lastRows }) => Object.assign(lastRows.attempts[0]!, { finishedMs: T + 400 }),
  ],
  [
    11,
    'an attempt arrives before the previous one ended',
    ({ lastRows }) => Object.assign(lastRows.attempts[0]!, { outcome: 'unknown', finishedMs: null }),
  ],
  [
    11,
    'an attempt arrives after the window of 24 hours',
    ({ original }) => Object.assign(original, { createdMs: T - 86_403_000 }),
  ],
  [11, 'a fourth attempt of three arrives', ({ posts }) => change(posts[2]!, { 'service-attempt': '4' })],
  [11, 'an attempt has no number', ({ posts }) => delete posts[2]!.headers['service-attempt']],
  [11, 'a POST has no stored attempt', ({ lastRows }) => lastRows.attempts.splice(1, 1)],
  [
    12,
    'two POSTs of one event have different bytes',
    ({ posts }) => Object.assign(posts[2]!, { body: Buffer.from(`${BODY} `).toString('base64') }),
  ],
  [
    12,
    'a payload has another outcome than the stored event',
    ({ event }) => Object.assign(event, { status: 'bounced' }),
  ],
  [12, 'a timestamp is old', ({ posts }) => Object.assign(posts[2]!, { arrivedMs: T + 6_000 })],
  [12, 'the timestamp is missing', ({ posts }) => delete posts[2]!.headers['service-timestamp']],
  [12, 'a signature does not match the octets', ({ posts }) => change(posts[0]!, { 'service-signature': '00' })],
  [
    12,
    'the signature of the standard scheme does not verify',
    ({ posts }) => change(posts[0]!, { 'webhook-signature': 'v1,AA==' }),
  ],
  [12, 'the standard scheme has another id', ({ posts }) => change(posts[0]!, { 'webhook-id': 'evt_7' })],
  [
    12,
    'a POST is signed with the previous secret only',
    ({ posts }) => posts.splice(3, 1, post('dsp_2', 1, T + 9_050, 200, [FIRST])),
  ],
  [
    12,
    'a POST after a rotation is signed with the new secret only',
    ({ posts }) => posts.splice(3, 1, post('dsp_2', 1, T + 9_050, 200, [SECOND])),
  ],
  [13, 'a status of 204 acknowledges', ({ lastRows }) => Object.assign(lastRows.attempts[2]!, { status: 204 })],
  [13, 'a status of 200 counts as a failure', ({ lastRows }) => Object.assign(lastRows.attempts[0]!, { status: 200 })],
  [13, 'a dispatch is acknowledged without a response of 200', ({ posts }) => posts.splice(1, 2)],
  [13, 'a dispatch is acknowledged without a stored attempt', ({ lastRows }) => lastRows.attempts.splice(2, 1)],
  [13, 'a dispatch is exhausted after a response of 200', (run) => exhaust(run)],
  [
    13,
    'a POST arrives after the end of its dispatch',
    ({ posts }) => posts.push(post('dsp_1', 3, T + 6_000, 200, [SECOND, FIRST])),
  ],
  [14, 'an accepted replay is not stored', ({ lastRows }) => lastRows.dispatches.pop()],
  [14, 'a refused replay is stored', ({ replayEntry }) => Object.assign(replayEntry, { status: 500, body: REFUSED })],
  [14, 'a replay is stored without a request', ({ webhooks }) => webhooks.replays.pop()],
  [14, 'a replay sends mail', ({ logs }) => logs.mail.dots.push({ ...logs.mail.dots[0]!, atMs: 9_020 })],
  [
    14,
    'a replay goes to the previous endpoint',
    ({ webhooks }) => Object.assign(webhooks.endpoints[1]!, { url: ELSEWHERE }),
  ],
  [
    14,
    'a POST is sent after the endpoint was deleted',
    ({ webhooks }) => Object.assign(webhooks.endpoints[1]!, { url: undefined }),
  ],
]

const REFUSED = { error: 'transient_failure', message: 'Nothing was dispatched.' }

function vanish({ logs, lastRows, early, original }: Run) {
  lastRows.dispatches.shift()
  early.dispatches = [original]
  logs.database[0]!.webhooks = early
}

test.each(BROKEN)('the reconciler finds a violation of statement %i: %s', (statement, _, breakIt) => {
  const run = perfect()
  breakIt(run)
  const violations = reconcileWebhooks(run.logs)
  expect(violations.map((violation) => violation.statement)).toContain(statement)
})

test('a replay whose caller did not learn its outcome may be stored', () => {
  for (const response of [
    { status: undefined },
    { status: 500, body: { message: 'It is not known whether it was.' } },
  ]) {
    const run = perfect()
    Object.assign(run.replayEntry, response)
    expect(reconcileWebhooks(run.logs)).toEqual([])
  }
})

test('a POST that is sent again because the receiver closed the first connection counts as one attempt', () => {
  const run = perfect()
  const { status: _, respondedMs: __, ...postWithoutResponse } = post('dsp_1', 1, T + 40, 503)
  run.posts.unshift(postWithoutResponse)
  expect(reconcileWebhooks(run.logs)).toEqual([])
})

test('an attempt may go to the old or the new endpoint while the change is in progress', () => {
  const run = perfect()
  Object.assign(run.webhooks.endpoints[1]!, { url: ELSEWHERE, sentMs: T + 9_000, respondedMs: T + 9_200 })
  const both = [...run.posts.splice(3, 1), post('dsp_2', 1, T + 9_050, 200)]
  for (const [i, entry] of both.entries()) {
    run.webhooks.posts = [...run.posts.slice(0, 3), { ...entry, url: i === 0 ? ELSEWHERE : URL }]
    expect(reconcileWebhooks(run.logs)).toEqual([])
  }
})
