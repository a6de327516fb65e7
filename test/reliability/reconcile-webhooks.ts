import type { DispatchRow, Logs } from './logs.ts'
import { replaysAreKept, replaysMailNothing } from './replays.ts'
import { everySignatureVerifies } from './signatures.ts'
import { type Finding, type Statement, type Violation, violationsOf } from './statements.ts'
import { IN_FLIGHT_MS, openWebhookBook, type Post, type WebhookBook } from './webhook-book.ts'

/** Statements 9 to 14 and 25, which are about webhooks. A dispatch belongs to one endpoint, so each holds for each. */
const STATEMENTS: Statement<WebhookBook>[] = [
  { number: 9, check: storedWithTheOutcome },
  { number: 9, check: onlyStoredIsPosted },
  { number: 10, check: endsOrIsScheduled },
  { number: 10, check: endsForGood },
  { number: 11, check: delaysAreKept },
  { number: 11, check: everyPostIsStored },
  { number: 12, check: sameBytes },
  { number: 12, check: everySignatureVerifies },
  { number: 13, check: only200Acknowledges },
  { number: 13, check: nothingFollowsTheEnd },
  { number: 14, check: replaysAreKept },
  { number: 14, check: replaysMailNothing },
  { number: 14, check: postedToCurrentEndpoint },
  { number: 25, check: oneDispatchForEach },
]

/** All violations of statements about webhooks. A run without receivers has none. */
export function reconcileWebhooks(logs: Logs): Violation[] {
  if (!logs.webhooks) return []
  return violationsOf(STATEMENTS, openWebhookBook(logs, logs.webhooks))
}

/**
 * The tolerance for comparing times: two clocks are read one after the other, and times are stored in whole
 * milliseconds.
 */
const TOLERANCE_MS = 50
const WINDOW_MS = 24 * 3_600_000
/** The longest time that a POST may take, plus some time to start it. */
const LONGEST_POST_MS = 12_000
const ENDS = ['acknowledged', 'exhausted', 'cancelled']

function* storedWithTheOutcome({ logs }: WebhookBook): Iterable<Finding> {
  for (const { recipients, events } of logs.database) {
    const eventIds = new Set(events.map(({ id }) => id))
    for (const row of recipients) if (!eventIds.has(row.event)) yield ['an outcome without its event', row]
  }
}

function* oneDispatchForEach({ logs, endpointsOf, mayAsk, mustAsk }: WebhookBook): Iterable<Finding> {
  for (const { webhooks } of logs.database) {
    const originals = (webhooks?.dispatches ?? []).filter(({ kind }) => kind === 'original')
    const dispatchesOf = Map.groupBy(originals, (row) => row.event)
    for (const event of webhooks?.events ?? []) {
      const originalDispatches = dispatchesOf.get(event.id) ?? []
      const toEndpoint = Map.groupBy(originalDispatches, ({ endpoint }) => endpoint)
      for (const [endpoint, rows] of toEndpoint) {
        if (rows.length > 1) yield ['two original dispatches of one event to one endpoint', rows]
        if (!endpointsOf(event.account).includes(endpoint) || !mayAsk(event, endpoint))
          yield ['a dispatch to an endpoint that does not exist or did not ask for the event', { event, rows }]
      }
      for (const endpoint of endpointsOf(event.account))
        if (!toEndpoint.has(endpoint) && mustAsk(event, endpoint))
          yield ['an event without its dispatch', { event, endpoint }]
    }
  }
}

function* onlyStoredIsPosted({ posts, dispatch }: WebhookBook): Iterable<Finding> {
  for (const post of posts) {
    if (dispatch(post.dispatch)?.event !== post.event) yield ['a POST without a stored dispatch', post]
  }
}

function* endsOrIsScheduled({ lastRows, attemptsOf, webhooks }: WebhookBook): Iterable<Finding> {
  const last = webhooks.scheduleMs.length
  for (const row of lastRows.dispatches) {
    const attempts = attemptsOf(row.id)
    const highest = Math.max(0, ...attempts.map(({ number }) => number))
    if (row.next) {
      const { attempt, dueMs, handedOver } = row.next
      if (!handedOver) yield ['a waiting dispatch that no workflow has', row]
      if (dueMs < lastRows.nowMs - LONGEST_POST_MS) yield ['a waiting dispatch whose attempt is overdue', row]
      if (attempt > last) yield ['a waiting dispatch whose next attempt is not in the schedule', row]
    } else if (!ENDS.includes(row.state)) yield ['not a terminal state', row]
    else if (row.state === 'exhausted' && highest < last && row.endedMs! < row.createdMs + WINDOW_MS)
      yield ['exhausted before its last attempt', { row, attempts }]
    if (new Set(attempts.map(({ number }) => number)).size < highest)
      yield ['an attempt was skipped', { row, attempts }]
  }
}

function* endsForGood({ logs }: WebhookBook): Iterable<Finding> {
  const endedDispatches = new Map<string, DispatchRow>()
  for (const { webhooks } of logs.database) {
    const rows = Map.groupBy(webhooks?.dispatches ?? [], ({ id }) => id)
    for (const both of rows.values()) if (both.length > 1) yield ['a dispatch that is waiting and ended', both]
    for (const [id, before] of endedDispatches) {
      const after = rows.get(id)?.[0]
      if (after?.state !== before.state) yield ['a terminal state was left', { before, after }]
    }
    for (const [id, [row]] of rows) if (row!.endedMs !== undefined) endedDispatches.set(id, row!)
  }
}

function* delaysAreKept({ posts, webhooks, dispatch, postsOf, attemptsOf }: WebhookBook): Iterable<Finding> {
  for (const post of posts) {
    const { attempt, arrivedMs } = post
    if (!(attempt >= 1 && attempt <= webhooks.scheduleMs.length)) yield ['an attempt that is not in the schedule', post]
    const row = dispatch(post.dispatch)
    if (row && arrivedMs > row.createdMs + WINDOW_MS + IN_FLIGHT_MS)
      yield ['an attempt after the window', { post, row }]
    if (!(attempt > 1)) continue
    const previousAttempts = attemptsOf(post.dispatch).filter(({ number }) => number === attempt - 1)
    const previousPosts = postsOf(post.dispatch).filter((other) => other.attempt === attempt - 1)
    const delayMs = webhooks.scheduleMs[attempt - 1]! - TOLERANCE_MS
    const endedMs = Math.min(...previousAttempts.flatMap(({ finishedMs }) => finishedMs ?? []))
    const firstMs = previousPosts.length > 0 ? Math.min(...previousPosts.map((other) => other.arrivedMs)) : 0
    if (!(arrivedMs >= endedMs + delayMs) || arrivedMs < firstMs + delayMs)
      yield ['an attempt before its delay', { post, previousAttempts, previousPosts }]
  }
}

/** An attempt that was in flight when its dispatch was cancelled needs no row. */
function* everyPostIsStored({ posts, dispatch, attemptsOf }: WebhookBook): Iterable<Finding> {
  for (const [name, attemptPosts] of Map.groupBy(posts, (post) => `${post.dispatch} ${post.attempt}`)) {
    const [id, number] = name.split(' ') as [string, string]
    const row = dispatch(id)
    const rows = attemptsOf(id).filter((attempt) => attempt.number === Number(number))
    const attempts = attemptPosts.filter((post, i) => !isRepeat(post, attemptPosts[i - 1]))
    if (row && row.state !== 'cancelled' && !row.next && rows.length < attempts.length)
      yield ['more POSTs than stored attempts', { posts: attemptPosts, rows }]
  }
}

/** Whether a POST repeats the one before, whose connection the receiver closed without sending an octet. */
function isRepeat(post: Post, before: Post | undefined): boolean {
  const time = 'service-timestamp'
  return before !== undefined && before.status === undefined && before.headers[time] === post.headers[time]
}

function* sameBytes({ logs, posts, inFlightMs }: WebhookBook): Iterable<Finding> {
  const events = new Map(logs.database.at(-1)?.events.map((row) => [row.id, row]))
  for (const [id, eventPosts] of Map.groupBy(posts, (post) => post.event)) {
    const bodies = new Set(eventPosts.map(({ body }) => body))
    if (bodies.size > 1) yield ['an event with different bytes', eventPosts]
    const event = events.get(id)
    const payload = JSON.parse(Buffer.from(eventPosts[0]!.body, 'base64').toString())
    const isTrue =
      payload.event_id === event?.id &&
      payload.message_id === event?.message &&
      payload.recipient === event?.recipient &&
      payload.status === event?.status &&
      (payload.reason ?? null) === event?.reason
    if (!isTrue) yield ['a payload that contradicts its event', { payload, event }]
  }
  for (const post of posts) {
    const ageMs = post.arrivedMs - post.timestampMs
    if (!(ageMs > -TOLERANCE_MS && ageMs < 1_000 + inFlightMs))
      yield ['a timestamp of another time than the attempt', post]
  }
}

/** Whether the receiver responded with 200 before the sender stopped waiting for the head of the response. */
const isAcknowledged = ({ status, arrivedMs, respondedMs }: Post) => status === 200 && respondedMs! - arrivedMs < 4_500

function* only200Acknowledges({ lastRows, postsOf, attemptsOf }: WebhookBook): Iterable<Finding> {
  for (const row of lastRows.attempts) {
    if ((row.outcome === 'acked') !== (row.status === 200)) yield ['acknowledged by another status than 200', row]
  }
  for (const row of lastRows.dispatches) {
    const posts = postsOf(row.id)
    const acknowledged = posts.filter(isAcknowledged)
    const acked = attemptsOf(row.id).filter(({ outcome }) => outcome === 'acked')
    if (row.state === 'acknowledged' && (acknowledged.length === 0 || acked.length === 0))
      yield ['acknowledged without a response of 200', { row, posts, acked }]
    if (row.state === 'cancelled' && acked.length > 0) yield ['both cancelled and acknowledged', { row, acked }]
    // A process that was killed after it read the response has made the attempt again.
    if (row.state === 'exhausted' && acknowledged.includes(posts.at(-1)!))
      yield ['the last response was 200, but the dispatch is exhausted', { row, posts }]
  }
}

function* nothingFollowsTheEnd({ lastRows, postsOf, inFlightMs }: WebhookBook): Iterable<Finding> {
  for (const row of lastRows.dispatches.filter(({ endedMs }) => endedMs !== undefined)) {
    const late = postsOf(row.id).filter(({ arrivedMs }) => arrivedMs > row.endedMs! + inFlightMs)
    if (late.length > 0) yield ['a POST after the dispatch ended', { row, late }]
  }
}

function* postedToCurrentEndpoint({ posts, dispatch, statesReadBefore }: WebhookBook): Iterable<Finding> {
  for (const post of posts) {
    const row = dispatch(post.dispatch)
    if (!row) continue
    const endpoints = statesReadBefore(row.endpoint, post.arrivedMs)
    if (!endpoints.some(({ url }) => url === post.url))
      yield ['a POST to another endpoint than the current one', { post, endpoints }]
  }
}
