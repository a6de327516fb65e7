import type { DatabaseClock } from '../../db/clock.ts'
import type { Database } from '../../db/connect.ts'
import type { StoredEvent } from '../../db/delivery-event.ts'
import { eq } from '../../db/drizzle.ts'
import type { Sealer } from '../../db/encryption.ts'
import { publicId } from '../../db/ids.ts'
import { dispatches } from '../../db/schema.ts'
import type { DispatchedEvent } from '../../ledger/first-attempts-offer.ts'
import { traceIdOf } from '../../telemetry/traceparent.ts'
import { NO_TRACING, type Tracing } from '../../telemetry/tracing.ts'
import type { CauseCode } from '../post/causes.ts'
import type { Post, PostResult } from '../post/post.ts'
import type { PostOutcome } from '../post/post-outcomes.ts'
import {
  type CurrentTarget,
  createBeginFirst,
  createBeginNext,
  createReadEvent,
  type NextAttempt,
  undoBegin,
} from './begin.ts'
import { createEndAttempt, finishDispatches } from './end.ts'
import { payloadOf } from './payload.ts'
import { signedHeaders, timestampOf } from './signature.ts'
import { createOpenTarget, type TargetRow } from './target.ts'

export interface DispatchAttempt extends NextAttempt {
  /** The delay of the next attempt, should this one fail; undefined for the last attempt. */
  nextDelayMs?: number
  signal?: AbortSignal
}

export interface AttemptResult {
  /**
   * `acknowledged` and `failed` also describe an attempt that an earlier call made. `ended` is a dispatch that is
   * cancelled, exhausted or unknown, or one that a restored database gives to another workflow. `not_due` and
   * `no_slot` (at the endpoint's origin) mean that no attempt was made: its number can be used again.
   */
  state: 'acknowledged' | 'failed' | 'ended' | 'not_due' | 'no_slot'
  outcome?: PostOutcome
  statusCode?: number
  cause?: CauseCode
}

/**
 * Makes one attempt of a dispatch. Throws only for a fault of the service. Whether the event was posted is then
 * unknown, and the caller repeats the call.
 */
export type AttemptOnce = (attempt: DispatchAttempt) => Promise<AttemptResult>

interface AttemptParts {
  db: Database
  clock: DatabaseClock
  sealer: Sealer
  post: Post
  tracing?: Tracing
  /** Is called with every attempt, for the log. */
  report?(attempt: AttemptReport): void
}

export interface AttemptReport extends PostResult {
  dispatchId: string
  eventId: string
  number: number
  durationMs: number
  traceId?: string
}

/**
 * One attempt: begin it on the row -> read the current endpoint and secret -> sign the event's payload -> POST ->
 * store.
 */
export function createAttempts(parts: AttemptParts) {
  const steps = createSteps(parts)
  const running = new Map<string, Promise<AttemptResult>>()

  /**
   * Joins the same attempt while it runs: Temporal repeats a call when it has not heard of the worker for a while, and
   * that worker may have been stopped, and go on.
   */
  function attemptOnce(attempt: DispatchAttempt): Promise<AttemptResult> {
    const { dispatchId, number, early = false } = attempt
    const name = `${dispatchId} ${number} ${early}`
    const result = running.get(name) ?? makeAttempt(steps, attempt).finally(() => running.delete(name))
    running.set(name, result)
    return result
  }

  /**
   * Makes the first attempt of an event that was stored a moment ago. `stored` resolves when the outcome is stored.
   * Returns undefined when no attempt was made: this process no longer holds the lease, the endpoint was deleted, or no
   * slot at its origin became free.
   */
  async function attemptFirst(event: DispatchedEvent, nextDelayMs?: number) {
    const { dispatchId } = event
    const row = await steps.first(dispatchId)
    if (row === undefined) return undefined
    if (!hasEndpoint(row)) return void (await cancel(parts.db, dispatchId))
    return postEvent(steps, { dispatchId, number: 1, nextDelayMs }, parts.clock.now(), row, event)
  }

  return { attemptFirst, attemptOnce: attemptOnce satisfies AttemptOnce }
}

type Steps = ReturnType<typeof createSteps>

const createSteps = ({ db, sealer, post, tracing = NO_TRACING, report }: AttemptParts) => ({
  ...{ db, post, tracing, report },
  targetOf: createOpenTarget(sealer),
  first: createBeginFirst(db),
  next: createBeginNext(db),
  eventOf: createReadEvent(db),
  end: createEndAttempt(db),
})

async function makeAttempt(steps: Steps, attempt: DispatchAttempt): Promise<AttemptResult> {
  const { db } = steps
  const { dispatchId, number } = attempt
  const dispatch = await steps.next(attempt)
  if (dispatch === undefined) return { state: (await wasAcknowledged(db, dispatchId)) ? 'acknowledged' : 'ended' }
  if (!hasEndpoint(dispatch)) return cancel(db, dispatchId)
  // Other dispatches of its group may have time left. This one stays with them until all of them are exhausted.
  if (dispatch.isLate) return { state: 'failed' }
  // The database was restored to a moment before this workflow's last attempt: the hand-over starts another workflow.
  if (dispatch.attempt < number) return { state: 'ended' }
  const { startedAtMs } = dispatch
  if (startedAtMs === null) return { state: dispatch.attempt === number ? 'not_due' : 'failed' }
  const event = await steps.eventOf(dispatch)
  if (event === undefined) return cancel(db, dispatchId)
  const posting = await postEvent(steps, attempt, startedAtMs, dispatch, event)
  if (posting === undefined) {
    await undoBegin(db, attempt)
    return { state: 'no_slot' }
  }
  await posting.stored
  const { outcome, statusCode, code: cause } = posting.result
  return { state: outcome === 'acked' ? 'acknowledged' : 'failed', outcome, statusCode, cause }
}

async function cancel(db: Database, dispatchId: string): Promise<AttemptResult> {
  await finishDispatches(db, [dispatchId], 'cancelled')
  return { state: 'ended' }
}

/** Returns undefined when no slot at the endpoint's origin became free: nothing was posted. */
async function postEvent(
  { tracing, targetOf, post, report, end }: Steps,
  attempt: DispatchAttempt,
  startedAtMs: number,
  row: TracedTarget,
  event: StoredEvent,
) {
  const { dispatchId, number, nextDelayMs, signal } = attempt
  const { accountId, urlVersion } = row
  const trace = beginSpan(tracing, attempt, row, event)
  let outcome: string = 'unknown'
  try {
    const beforeMs = performance.now()
    const { url, ...secrets } = targetOf(row)
    const body = payloadOf(event)
    const headers = signedHeaders({
      ...{ body, eventId: publicId('evt', event.id), dispatchId: publicId('dsp', dispatchId), attempt: number },
      timestamp: timestampOf(startedAtMs),
      ...secrets,
    })
    if (trace) headers.traceparent = trace.traceparent
    const result = await post(url, headers, body, { accountId, signal })
    outcome = result?.outcome ?? 'no_slot'
    if (result === undefined) return undefined
    const durationMs = performance.now() - beforeMs
    trace?.set({ 'verdict.outcome': outcome, 'http.response.status_code': result.statusCode })
    report?.({ ...result, dispatchId, eventId: event.id, number, durationMs, traceId: trace?.traceId })
    const ended = { ...result, dispatchId, accountId, number, urlVersion, startedAtMs, durationMs, nextDelayMs }
    return { result, stored: end(ended) }
  } finally {
    trace?.end(outcome === 'acked' ? undefined : outcome)
  }
}

/** Whether a dispatch that is over was acknowledged. */
async function wasAcknowledged(db: Database, id: string): Promise<boolean> {
  const [row] = await db.select({ state: dispatches.state }).from(dispatches).where(eq(dispatches.id, id))
  return row?.state === 'acknowledged'
}

type TracedTarget = TargetRow & Pick<CurrentTarget, 'traceparent'>

/**
 * Begins the span of an attempt in the trace of its dispatch. A workflow makes the attempts of dispatches of several
 * traces: where its own is another one, the span links to it.
 */
function beginSpan(tracing: Tracing, attempt: DispatchAttempt, row: TracedTarget, event: StoredEvent) {
  const dispatch = row.traceparent ?? undefined
  const activity = tracing.active()
  const isSame = activity !== undefined && (!dispatch || traceIdOf(activity) === traceIdOf(dispatch))
  return tracing.begin('webhook attempt', {
    kind: 'client',
    ...(isSame ? { parent: activity } : { parent: dispatch, link: activity }),
    attributes: {
      'verdict.event_id': publicId('evt', event.id),
      'verdict.dispatch_id': publicId('dsp', attempt.dispatchId),
      'verdict.attempt': attempt.number,
    },
  })
}

const hasEndpoint = <Row extends CurrentTarget>(row: Row): row is Row & TracedTarget => row.url !== null
