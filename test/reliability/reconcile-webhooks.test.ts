import { expect, test } from 'vitest'
import { newSecret, signedHeaders } from '../../server/webhooks/signature.ts'
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

/** A POST as the product makes it, signed with these secrets. */
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
    answeredMs: arrivedMs + 5,
  }
}

/** One event in perfect order: failed, lost by a process that was killed, acknowledged; replayed after the secret was rotated. */
function perfect() {
  const dispatch = { event: 'evt_1', message: 'msg_1', account: 'acc', state: 'acknowledged' }
  const original: DispatchRow = { ...dispatch, id: 'dsp_1', kind: 'original', createdMs: T, endedMs: T + 2_000 }
  const replay: DispatchRow = { ...dispatch, id: 'dsp_2', kind: 'replay', createdMs: T + 9_000, endedMs: T + 9_100 }
  const row = (id: string, number: number, outcome: string, status: number | null, finishedMs: number | null) => {
    return { dispatch: id, number, outcome, status, finishedMs }
  }
  const waiting: DispatchRow = {
    ...original,
    state: 'waiting',
    endedMs: undefined,
    next: { attempt: 2, dueMs: T + 600, handedOver: true },
  }
  const failed = row('dsp_1', 1, 'not_200', 503, T + 100)
  const event = { id: 'evt_1', message: 'msg_1', recipient: 'ann@one.example', status: 'delivered', reason: null }
  const outcome = { message: 'msg_1', event: 'evt_1', email: event.recipient, status: 'delivered', reason: null }
  const stored: WebhookRows = {
    nowMs: T + 20_000,
    events: [{ id: 'evt_1', account: 'acc', createdMs: T }],
    dispatches: [original, replay],
    attempts: [
      failed,
      row('dsp_1', 2, 'unknown', null, null),
      row('dsp_1', 2, 'acked', 200, T + 2_000),
      row('dsp_2', 1, 'acked', 200, T + 9_100),
    ],
  }
  const early: WebhookRows = { ...stored, nowMs: T + 300, dispatches: [waiting], attempts: [failed] }
  const snapshot = (webhooks: WebhookRows): Snapshot => {
    return { atMs: 0, messages: [], recipients: [{ ...outcome, inDoubt: false }], events: [event], open: [], webhooks }
  }
  const posts = [
    post('dsp_1', 1, T + 50, 503),
    post('dsp_1', 2, T + 700, 200),
    post('dsp_1', 2, T + 1_900, 200),
    post('dsp_2', 1, T + 9_050, 200, [SECOND, FIRST]),
  ]
  const accepted = { replayed: true, event_id: 'evt_1', message_id: 'msg_1', dispatch_id: 'dsp_2' }
  const replayEntry = { of: 'evt_1', sentAtMs: 9_000, status: 200, body: accepted }
  const logs: Logs = {
    requests: [],
    mail: { named: [], dots: [{ message: 'msg_1', request: 'one', to: [event.recipient], reply: 250, atMs: 40 }] },
    database: [snapshot(early), snapshot(stored)],
    processes: [],
    webhooks: {
      scheduleMs: [0, 500, 1_000],
      posts,
      endpoints: [
        { account: 'acc', url: URL, secret: FIRST, sentMs: T - 100, answeredMs: T - 90 },
        { account: 'acc', url: URL, secret: SECOND, sentMs: T + 5_000, answeredMs: T + 5_010 },
      ],
      replays: [replayEntry],
    },
  }
  return {
    logs,
    webhooks: logs.webhooks!,
    stored,
    early,
    original,
    replay,
    waiting,
    posts,
    replayEntry,
    event,
    outcome,
  }
}

type Run = ReturnType<typeof perfect>

test('a perfect run has no violations, and one without receivers neither', () => {
  expect(reconcileWebhooks(perfect().logs)).toEqual([])
  expect(reconcileWebhooks({ ...perfect().logs, webhooks: undefined })).toEqual([])
})

test('what waits for its time with a workflow is no violation', () => {
  const run = perfect()
  waitAgain(run, {})
  expect(reconcileWebhooks(run.logs)).toEqual([])
})

/** As if the last attempt of the original had failed, and the next one were to come. */
function waitAgain({ stored, waiting, posts, logs }: Run, change: Partial<NonNullable<DispatchRow['next']>>) {
  const next = { attempt: 3, dueMs: stored.nowMs + 500, handedOver: true, ...change }
  stored.dispatches[0] = { ...waiting, next }
  Object.assign(stored.attempts[2]!, { outcome: 'not_200', status: 503 })
  Object.assign(posts[2]!, { status: 503 })
  return logs
}

function exhaust(run: Run, change: object = {}) {
  Object.assign(run.original, { state: 'exhausted', ...change })
  Object.assign(run.stored.attempts[2]!, { outcome: 'not_200', status: 503 })
}

function change(entry: PostEntry, headers: Record<string, string>) {
  Object.assign(entry.headers, headers)
}

const BROKEN: [statement: number, how: string, breakIt: (run: Run) => unknown][] = [
  [9, 'an outcome whose event is not there yet', ({ logs }) => logs.database[0]!.events.pop()],
  [9, 'an event whose dispatch is not there yet', ({ early }) => early.dispatches.pop()],
  [9, 'two dispatches of one event', ({ stored, original }) => stored.dispatches.push({ ...original, id: 'dsp_9' })],
  [9, 'a dispatch without an endpoint', ({ webhooks }) => Object.assign(webhooks.endpoints[0]!, { url: undefined })],
  [9, 'a POST of nothing stored', ({ posts }) => posts.push(post('dsp_9', 1, T + 60, 200))],
  [9, 'a POST under the dispatch of another event', ({ posts }) => change(posts[0]!, { 'service-event-id': 'evt_2' })],
  [10, 'an end that is none', ({ original }) => Object.assign(original, { state: 'lost' })],
  [10, 'nobody has what waits', (run) => waitAgain(run, { handedOver: false })],
  [10, 'overdue', (run) => waitAgain(run, { dueMs: T + 1_000 })],
  [10, 'waiting for a fourth attempt of three', (run) => waitAgain(run, { attempt: 4 })],
  [10, 'exhausted after two attempts of three', (run) => exhaust(run)],
  [10, 'an attempt left out', ({ stored }) => Object.assign(stored.attempts[0]!, { number: 2 })],
  [10, 'waits and is over', ({ stored, waiting }) => stored.dispatches.push(waiting)],
  [
    10,
    'an end that is left',
    ({ early }) => Object.assign(early.dispatches[0]!, { state: 'exhausted', endedMs: T + 5 }),
  ],
  [10, 'a dispatch that vanished', (run) => vanish(run)],
  [11, 'too early by the receiver', ({ posts }) => Object.assign(posts[1]!, { arrivedMs: T + 400 })],
  [11, 'too early by the attempt before', ({ stored }) => Object.assign(stored.attempts[0]!, { finishedMs: T + 400 })],
  [
    11,
    'before the attempt before ended',
    ({ stored }) => Object.assign(stored.attempts[0]!, { outcome: 'unknown', finishedMs: null }),
  ],
  [11, 'after the window', ({ original }) => Object.assign(original, { createdMs: T - 86_403_000 })],
  [11, 'a fourth attempt of three', ({ posts }) => change(posts[2]!, { 'service-attempt': '4' })],
  [11, 'an attempt without a number', ({ posts }) => delete posts[2]!.headers['service-attempt']],
  [11, 'a POST that nobody wrote down', ({ stored }) => stored.attempts.splice(1, 1)],
  [12, 'other bytes', ({ posts }) => Object.assign(posts[2]!, { body: Buffer.from(`${BODY} `).toString('base64') })],
  [12, 'another outcome than stored', ({ event }) => Object.assign(event, { status: 'bounced' })],
  [12, 'an old timestamp', ({ posts }) => Object.assign(posts[2]!, { arrivedMs: T + 6_000 })],
  [12, 'no timestamp', ({ posts }) => delete posts[2]!.headers['service-timestamp']],
  [12, 'a signature of other octets', ({ posts }) => change(posts[0]!, { 'service-signature': '00' })],
  [12, 'the other scheme does not verify', ({ posts }) => change(posts[0]!, { 'webhook-signature': 'v1,AA==' })],
  [12, 'another id in the other scheme', ({ posts }) => change(posts[0]!, { 'webhook-id': 'evt_7' })],
  [
    12,
    'signed with a secret that is over',
    ({ posts }) => posts.splice(3, 1, post('dsp_2', 1, T + 9_050, 200, [FIRST])),
  ],
  [
    12,
    'only signed with the new secret',
    ({ posts }) => posts.splice(3, 1, post('dsp_2', 1, T + 9_050, 200, [SECOND])),
  ],
  [13, 'acknowledged by 204', ({ stored }) => Object.assign(stored.attempts[2]!, { status: 204 })],
  [13, 'failed by 200', ({ stored }) => Object.assign(stored.attempts[0]!, { status: 200 })],
  [13, 'acknowledged, and nobody said so', ({ posts }) => posts.splice(1, 2)],
  [13, 'acknowledged, and it was not written down', ({ stored }) => stored.attempts.splice(2, 1)],
  [13, '200, and exhausted', (run) => exhaust(run)],
  [13, 'posted after its end', ({ posts }) => posts.push(post('dsp_1', 3, T + 6_000, 200, [SECOND, FIRST]))],
  [14, 'a promised replay that is not there', ({ stored }) => stored.dispatches.pop()],
  [
    14,
    'a refused replay that is there',
    ({ replayEntry }) => Object.assign(replayEntry, { status: 500, body: REFUSED }),
  ],
  [14, 'a replay nobody asked for', ({ webhooks }) => webhooks.replays.pop()],
  [14, 'a replay that mailed', ({ logs }) => logs.mail.dots.push({ ...logs.mail.dots[0]!, atMs: 9_020 })],
  [
    14,
    'a replay to the endpoint of before',
    ({ webhooks }) => Object.assign(webhooks.endpoints[1]!, { url: ELSEWHERE }),
  ],
  [14, 'a POST without an endpoint', ({ webhooks }) => Object.assign(webhooks.endpoints[1]!, { url: undefined })],
]

const REFUSED = { error: 'transient_failure', message: 'Nothing was dispatched.' }

function vanish({ logs, stored, early, original }: Run) {
  stored.dispatches.shift()
  early.dispatches = [original]
  logs.database[0]!.webhooks = early
}

test.each(BROKEN)('statement %i is seen to be broken: %s', (statement, _, breakIt) => {
  const run = perfect()
  breakIt(run)
  const found = reconcileWebhooks(run.logs)
  expect(found.map((violation) => violation.statement)).toContain(statement)
})

test('a replay whose caller was told nothing may have been made', () => {
  for (const answer of [{ status: undefined }, { status: 500, body: { message: 'It is not known whether it was.' } }]) {
    const run = perfect()
    Object.assign(run.replayEntry, answer)
    expect(reconcileWebhooks(run.logs)).toEqual([])
  }
})

test('a request sent once more on another connection, because the receiver closed the first, is one attempt', () => {
  const run = perfect()
  const { status: _, answeredMs: __, ...unanswered } = post('dsp_1', 1, T + 40, 503)
  run.posts.unshift(unanswered)
  expect(reconcileWebhooks(run.logs)).toEqual([])
})

test('while an endpoint is being changed an attempt may go to either', () => {
  const run = perfect()
  Object.assign(run.webhooks.endpoints[1]!, { url: ELSEWHERE, sentMs: T + 9_000, answeredMs: T + 9_200 })
  const both = [...run.posts.splice(3, 1), post('dsp_2', 1, T + 9_050, 200)]
  for (const [i, entry] of both.entries()) {
    run.webhooks.posts = [...run.posts.slice(0, 3), { ...entry, url: i === 0 ? ELSEWHERE : URL }]
    expect(reconcileWebhooks(run.logs)).toEqual([])
  }
})
