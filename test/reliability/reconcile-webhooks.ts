import type { DispatchRow, Logs } from './logs.ts'
import { replaysAreKept, replaysMailNothing } from './replays.ts'
import { everySignatureVerifies } from './signatures.ts'
import { type Finding, type Statement, type Violation, violationsOf } from './statements.ts'
import { ON_ITS_WAY_MS, openWebhookBook, type Post, type WebhookBook } from './webhook-book.ts'

/** Statements 9 to 14: those about webhooks. */
const STATEMENTS: Statement<WebhookBook>[] = [
  { number: 9, check: storedWithTheOutcome },
  { number: 9, check: onlyStoredIsPosted },
  { number: 10, check: endsOrIsScheduled },
  { number: 10, check: endsForGood },
  { number: 11, check: delaysAreKept },
  { number: 11, check: everyAttemptIsKnown },
  { number: 12, check: sameBytes },
  { number: 12, check: everySignatureVerifies },
  { number: 13, check: only200Acknowledges },
  { number: 13, check: nothingFollowsTheEnd },
  { number: 14, check: replaysAreKept },
  { number: 14, check: replaysMailNothing },
  { number: 14, check: endpointOfNow },
]

/** What contradicts a statement about webhooks; nothing for a run without receivers. */
export function reconcileWebhooks(logs: Logs): Violation[] {
  if (!logs.webhooks) return []
  return violationsOf(STATEMENTS, openWebhookBook(logs, logs.webhooks))
}

/** Two clocks are read one after the other, and a time is stored in whole milliseconds. */
const READING_MS = 50
const WINDOW_MS = 24 * 3_600_000
/** The longest that a POST may take, and a moment to begin it. */
const LONGEST_POST_MS = 12_000
const ENDS = ['acknowledged', 'exhausted', 'cancelled']

function* storedWithTheOutcome({ logs, endpointsAt, mayLackEndpoint }: WebhookBook): Iterable<Finding> {
  for (const { recipients, events, webhooks } of logs.database) {
    const stored = new Set(events.map(({ id }) => id))
    for (const row of recipients) if (!stored.has(row.event)) yield ['an outcome before its event', row]
    const originals = (webhooks?.dispatches ?? []).filter(({ kind }) => kind === 'original')
    const dispatchesOf = Map.groupBy(originals, (row) => row.event)
    for (const event of webhooks?.events ?? []) {
      const mine = dispatchesOf.get(event.id) ?? []
      const mayHave = endpointsAt(event.account, event.createdMs).some(({ url }) => url !== undefined)
      if (mine.length > 1) yield ['two original dispatches of one event', mine]
      if (mine.length === 0 && !mayLackEndpoint(event.account, event.createdMs))
        yield ['an event without its dispatch', event]
      if (mine.length > 0 && !mayHave) yield ['a dispatch of an account without an endpoint', { event, mine }]
    }
  }
}

function* onlyStoredIsPosted({ posts, dispatch }: WebhookBook): Iterable<Finding> {
  for (const post of posts) {
    if (dispatch(post.dispatch)?.event !== post.event) yield ['a POST of no stored dispatch', post]
  }
}

function* endsOrIsScheduled({ stored, attemptsOf, webhooks }: WebhookBook): Iterable<Finding> {
  const last = webhooks.scheduleMs.length
  for (const row of stored.dispatches) {
    const attempts = attemptsOf(row.id)
    const highest = Math.max(0, ...attempts.map(({ number }) => number))
    if (row.next) {
      const { attempt, dueMs, handedOver } = row.next
      if (!handedOver) yield ['waits, and no workflow has it', row]
      if (dueMs < stored.nowMs - LONGEST_POST_MS) yield ['waits, and its attempt is overdue', row]
      if (attempt > last) yield ['waits for an attempt that is none', row]
    } else if (!ENDS.includes(row.state)) yield ['not an end', row]
    else if (row.state === 'exhausted' && highest < last && row.endedMs! < row.createdMs + WINDOW_MS)
      yield ['exhausted before its last attempt', { row, attempts }]
    if (new Set(attempts.map(({ number }) => number)).size < highest)
      yield ['an attempt was skipped', { row, attempts }]
  }
}

function* endsForGood({ logs }: WebhookBook): Iterable<Finding> {
  const ended = new Map<string, DispatchRow>()
  for (const { webhooks } of logs.database) {
    const rows = Map.groupBy(webhooks?.dispatches ?? [], ({ id }) => id)
    for (const both of rows.values()) if (both.length > 1) yield ['waits and is over', both]
    for (const [id, before] of ended) {
      const after = rows.get(id)?.[0]
      if (after?.state !== before.state) yield ['an end that was left', { before, after }]
    }
    for (const [id, [row]] of rows) if (row!.endedMs !== undefined) ended.set(id, row!)
  }
}

function* delaysAreKept({ posts, webhooks, dispatch, postsOf, attemptsOf }: WebhookBook): Iterable<Finding> {
  for (const post of posts) {
    const { attempt, arrivedMs } = post
    if (!(attempt >= 1 && attempt <= webhooks.scheduleMs.length)) yield ['an attempt that is none', post]
    const row = dispatch(post.dispatch)
    if (row && arrivedMs > row.createdMs + WINDOW_MS + ON_ITS_WAY_MS)
      yield ['an attempt after the window', { post, row }]
    if (!(attempt > 1)) continue
    const before = attemptsOf(post.dispatch).filter(({ number }) => number === attempt - 1)
    const arrived = postsOf(post.dispatch).filter((other) => other.attempt === attempt - 1)
    const delayMs = webhooks.scheduleMs[attempt - 1]! - READING_MS
    const endedMs = Math.min(...before.flatMap(({ finishedMs }) => finishedMs ?? []))
    const firstMs = arrived.length > 0 ? Math.min(...arrived.map((other) => other.arrivedMs)) : 0
    if (!(arrivedMs >= endedMs + delayMs) || arrivedMs < firstMs + delayMs)
      yield ['an attempt before its delay', { post, before, arrived }]
  }
}

/** What was cancelled while it was on its way needs no row. */
function* everyAttemptIsKnown({ posts, dispatch, attemptsOf }: WebhookBook): Iterable<Finding> {
  for (const [name, mine] of Map.groupBy(posts, (post) => `${post.dispatch} ${post.attempt}`)) {
    const [id, number] = name.split(' ') as [string, string]
    const row = dispatch(id)
    const rows = attemptsOf(id).filter((attempt) => attempt.number === Number(number))
    const made = mine.filter((post, i) => !isRepeat(post, mine[i - 1]))
    if (row && row.state !== 'cancelled' && !row.next && rows.length < made.length)
      yield ['more POSTs than attempts are written down', { posts: mine, rows }]
  }
}

/** The same request once more: the connection it went on first was one that the receiver closed without an octet. */
function isRepeat(post: Post, before: Post | undefined): boolean {
  const time = 'service-timestamp'
  return before !== undefined && before.status === undefined && before.headers[time] === post.headers[time]
}

function* sameBytes({ logs, posts }: WebhookBook): Iterable<Finding> {
  const events = new Map(logs.database.at(-1)?.events.map((row) => [row.id, row]))
  for (const [id, mine] of Map.groupBy(posts, (post) => post.event)) {
    const bodies = new Set(mine.map(({ body }) => body))
    if (bodies.size > 1) yield ['an event with different bytes', mine]
    const event = events.get(id)
    const told = JSON.parse(Buffer.from(mine[0]!.body, 'base64').toString())
    const isTrue =
      told.event_id === event?.id &&
      told.message_id === event?.message &&
      told.recipient === event?.recipient &&
      told.status === event?.status &&
      (told.reason ?? null) === event?.reason
    if (!isTrue) yield ['a POST that says something else than its event', { told, event }]
  }
  for (const post of posts) {
    const ageMs = post.arrivedMs - post.timestampMs
    if (!(ageMs > -READING_MS && ageMs < 1_000 + ON_ITS_WAY_MS)) yield ['a timestamp that is not of this attempt', post]
  }
}

/** In time: nobody waits longer for the head of an answer. */
const isYes = ({ status, arrivedMs, answeredMs }: Post) => status === 200 && answeredMs! - arrivedMs < 4_500

function* only200Acknowledges({ stored, postsOf, attemptsOf }: WebhookBook): Iterable<Finding> {
  for (const row of stored.attempts) {
    if ((row.outcome === 'acked') !== (row.status === 200)) yield ['acknowledged by another status than 200', row]
  }
  for (const row of stored.dispatches) {
    const posts = postsOf(row.id)
    const said = posts.filter(isYes)
    const acked = attemptsOf(row.id).filter(({ outcome }) => outcome === 'acked')
    if (row.state === 'acknowledged' && (said.length === 0 || acked.length === 0))
      yield ['acknowledged, and nobody said 200', { row, posts, acked }]
    if (row.state === 'cancelled' && acked.length > 0) yield ['cancelled, and acknowledged', { row, acked }]
    // Who heard it and was killed has made the attempt again.
    if (row.state === 'exhausted' && said.includes(posts.at(-1)!))
      yield ['200 in the end, and not acknowledged', { row, posts }]
  }
}

function* nothingFollowsTheEnd({ stored, postsOf }: WebhookBook): Iterable<Finding> {
  for (const row of stored.dispatches.filter(({ endedMs }) => endedMs !== undefined)) {
    const late = postsOf(row.id).filter(({ arrivedMs }) => arrivedMs > row.endedMs! + ON_ITS_WAY_MS)
    if (late.length > 0) yield ['posted after its end', { row, late }]
  }
}

function* endpointOfNow({ posts, dispatch, endpointsAt }: WebhookBook): Iterable<Finding> {
  for (const post of posts) {
    const row = dispatch(post.dispatch)
    if (!row) continue
    const endpoints = endpointsAt(row.account, post.arrivedMs, ON_ITS_WAY_MS)
    if (!endpoints.some(({ url }) => url === post.url))
      yield ['a POST to another endpoint than that of now', { post, endpoints }]
  }
}
