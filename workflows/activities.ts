import { ApplicationFailure, activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity'
import { createFairSlotsByKey } from '../net/fair-slots.ts'
import { type IdPrefix, parsePublicId } from '../server/db/ids.ts'
import { describeError } from '../server/process/log.ts'
import type { AttemptOnce, AttemptResult } from '../server/webhooks/attempt/attempt-once.ts'
import type { ReplayStep } from '../server/webhooks/replays/range-replays.ts'
import { describeResponses } from './responses.ts'
import {
  ACTIVITY_SLOTS,
  GROUPS_PER_ACCOUNT,
  GROUPS_PER_ENDPOINT,
  MAX_GROUP,
  POSTS_PER_ENDPOINT,
  SLOT_WAIT_MS,
} from './worker-limits.ts'

const HEARTBEAT_MS = 5_000

export interface ActivityParts {
  attemptOnce: AttemptOnce
  /** Takes UUIDs. */
  finishDispatches(ids: string[], state: 'exhausted' | 'cancelled'): Promise<void>
  dropExpired(): Promise<string[]>
  /** The replays of many events, by UUID. */
  replays: { dispatchNext(replayId: string): Promise<ReplayStep>; cancel(replayId: string): Promise<unknown> }
  /** Returns how many domains were checked, by status. */
  verifyDue(signal: AbortSignal): Promise<Record<string, number>>
  /** Is called with every fault of the service. Temporal repeats the activity. */
  onError(error: unknown): void
  /** Aborts when the worker stops: no further POST begins. */
  stopping: AbortSignal
}

// The fields of the next types are stored in the histories of workflows and keep their names.

/** One attempt of every dispatch of a group. */
export interface GroupAttempt {
  /** Public ids, `dsp_...`. */
  dispatchIds: string[]
  attempt: number
  /** The account's key for the count of its slots; opaque. Absent in a workflow that release 0.2 began. */
  account?: string
  /** The endpoint's key for the count of its slots; it is opaque, because histories hold it. */
  endpoint: string
  /** Whether the attempt may begin before it is due, because an operator asked for it. */
  early?: boolean
  /** The delay of the next attempt, for the dispatches that fail; undefined for the last attempt. */
  nextDelayMs?: number
}

export interface GroupResult {
  acknowledged: number
  /** Dispatches that were over before the attempt. */
  over: number
  failed: string[]
  /** Dispatches without an attempt: they got no slot, or are not due by the database's clock. */
  busy: string[]
  /** How the endpoint responded to those that failed. */
  lastAnswer?: string
  /** The same for each of them, by its id; absent in a history of release 0.2, like the next field. */
  answers?: Record<string, string>
  acknowledgedIds?: string[]
}

export type Activities = ReturnType<typeof createActivities>

/** The side effects of the workflows. Activities return ids and counts, and nothing personal. */
export function createActivities(parts: ActivityParts) {
  const { attemptOnce, finishDispatches, dropExpired, replays, verifyDue, onError, stopping } = parts
  // An account holds at most as many slots of a task queue as it leaves free. An endpoint holds at most half of what
  // its account has free, so that the last of ten endpoints gets one.
  const accountSlots = createFairSlotsByKey({ slotsPerKey: ACTIVITY_SLOTS, perAccount: (free) => free, maxWaiting: 0 })
  const groupSlots = createFairSlotsByKey({
    slotsPerKey: GROUPS_PER_ACCOUNT,
    perAccount: (free) => Math.min(free / 2, GROUPS_PER_ENDPOINT),
    maxWaiting: GROUPS_PER_ENDPOINT,
  })
  const postSlots = createFairSlotsByKey({
    slotsPerKey: POSTS_PER_ENDPOINT,
    maxWaiting: 2 * GROUPS_PER_ENDPOINT * MAX_GROUP,
  })

  async function attemptGroup(group: GroupAttempt): Promise<GroupResult> {
    const { dispatchIds, endpoint, account = endpoint } = group
    const busy = { acknowledged: 0, over: 0, failed: [], busy: dispatchIds }
    // Each task queue has its own slots, so a bulk replay leaves those for retries of the same endpoint free.
    const { taskQueue } = activityInfo()
    const untilMs = performance.now() + SLOT_WAIT_MS
    // A group that waits for its endpoint holds a slot of its account.
    const releaseAccount = await accountSlots.acquire(taskQueue, { accountId: account })
    if (!releaseAccount) return busy
    using held = new DisposableStack()
    held.defer(releaseAccount)
    const release = await groupSlots.acquire(`${taskQueue} ${account}`, { accountId: endpoint, untilMs })
    if (!release) return busy
    held.defer(release)
    return groupResult(await allOf(dispatchIds.map((id) => attemptOne(id, group))))
  }

  async function attemptOne(dispatchId: string, group: GroupAttempt): Promise<DispatchResult> {
    const { endpoint, account = endpoint, attempt, early, nextDelayMs } = group
    const cancelled = cancellationSignal()
    const release = await postSlots.acquire(endpoint, { signal: AbortSignal.any([cancelled, stopping]) })
    if (!release) throw new Error('the worker stops, or the workflow was cancelled')
    try {
      const ids = { dispatchId: uuidOf('dsp', dispatchId), number: attempt, account }
      return { dispatchId, ...(await attemptOnce({ ...ids, early, nextDelayMs, signal: cancelled })) }
    } finally {
      release()
    }
  }

  const runActivity = <T>(work: () => Promise<T>) => withHeartbeats(work, onError)
  return {
    attemptDispatches: (group: GroupAttempt) => runActivity(() => attemptGroup(group)),
    finishDispatches: ({ dispatchIds, as }: { dispatchIds: string[]; as: 'exhausted' | 'cancelled' }) =>
      runActivity(async () => {
        const ids = dispatchIds.map((id) => uuidOf('dsp', id))
        return finishDispatches(ids, as)
      }),
    dispatchNext: ({ replayId }: { replayId: string }) =>
      runActivity(() => replays.dispatchNext(uuidOf('rpl', replayId))),
    cancelReplay: ({ replayId }: { replayId: string }) =>
      runActivity(async () => void (await replays.cancel(uuidOf('rpl', replayId)))),
    dropExpired: () => runActivity(dropExpired),
    verifyDue: () => runActivity(() => verifyDue(AbortSignal.any([cancellationSignal(), stopping]))),
  }
}

/**
 * Runs an activity with heartbeats. The full text of an error goes to the log only: it could quote what a history
 * must not hold.
 */
async function withHeartbeats<T>(work: () => Promise<T>, onError: (error: unknown) => void): Promise<T> {
  const beat = setInterval(heartbeat, HEARTBEAT_MS)
  try {
    return await work()
  } catch (error) {
    cancellationSignal().throwIfAborted()
    onError(error)
    const { message, type } = describeError(error)
    throw ApplicationFailure.retryable(message, type)
  } finally {
    clearInterval(beat)
  }
}

/** Like Promise.all, but rejects only when all promises have settled. */
async function allOf<T>(promises: Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

interface DispatchResult extends AttemptResult {
  /** Public id. */
  dispatchId: string
}

function groupResult(results: readonly DispatchResult[]): GroupResult {
  const idsIn = (...states: AttemptResult['state'][]) =>
    results.filter(({ state }) => states.includes(state)).map(({ dispatchId }) => dispatchId)
  const failed = results.filter(({ state }) => state === 'failed')
  const answers = failed.map((result) => [result.dispatchId, describeResponses([result])] as const)
  return {
    acknowledged: idsIn('acknowledged').length,
    over: idsIn('ended').length,
    failed: idsIn('failed'),
    busy: idsIn('not_due', 'no_slot'),
    lastAnswer: describeResponses(failed),
    answers: Object.fromEntries(answers.flatMap(([id, answer]) => (answer === undefined ? [] : [[id, answer]]))),
    acknowledgedIds: idsIn('acknowledged'),
  }
}

function uuidOf(prefix: IdPrefix, id: string): string {
  const uuid = parsePublicId(prefix, id)
  if (uuid === undefined) throw new Error(`${id} is no id with the prefix ${prefix}`)
  return uuid
}
