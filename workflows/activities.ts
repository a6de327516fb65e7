import { ApplicationFailure, activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity'
import { readId } from '../server/db/ids.ts'
import { describeError } from '../server/log.ts'
import { createSlots } from '../server/slots.ts'
import type { DeliverOnce, Made } from '../server/webhooks/deliver-once.ts'
import { answersInWords } from './answers.ts'
import { GROUPS_PER_ENDPOINT, MAX_GROUP, PLACE_WAIT_MS, POSTS_PER_ENDPOINT } from './limits.ts'

const HEARTBEAT_MS = 5_000

export interface ActivityParts {
  deliverOnce: DeliverOnce
  /** UUIDs. */
  finishDispatches(ids: string[], state: 'exhausted' | 'cancelled'): Promise<void>
  dropExpired(): Promise<string[]>
  /** Gives how many domains were checked, by status. */
  verifyDue(signal: AbortSignal): Promise<Record<string, number>>
  /** Hears of every fault of ours; Temporal repeats the activity. */
  failed(error: unknown): void
  /** From then on no further POST is begun: the worker stops. */
  stopping: AbortSignal
}

/** One attempt of every dispatch of a group. */
export interface Attempt {
  /** Shown ids. */
  dispatchIds: string[]
  attempt: number
  /** Stands for the endpoint where places are counted. */
  endpoint: string
  /** Also before it is due: a person asked. */
  early?: boolean
  /** Until the next attempt, for those that fail; undefined for the last. */
  nextDelayMs?: number
}

export interface Attempted {
  acknowledged: number
  /** Were so before. */
  over: number
  failed: string[]
  /** No attempt was made of these: they found no place at the endpoint, or are not due by the database's clock. */
  busy: string[]
  /** What the endpoint answered to those that failed. */
  lastAnswer?: string
}

export type Activities = ReturnType<typeof createActivities>

/** What the workflows may do to the world. Ids and counts come back, and nothing personal. */
export function createActivities(parts: ActivityParts) {
  const { deliverOnce, finishDispatches, dropExpired, verifyDue, failed, stopping } = parts
  const groups = createSlots({ perKey: GROUPS_PER_ENDPOINT, maxWaiting: GROUPS_PER_ENDPOINT })
  const posts = createSlots({ perKey: POSTS_PER_ENDPOINT, maxWaiting: 2 * GROUPS_PER_ENDPOINT * MAX_GROUP })

  async function attemptGroup(group: Attempt): Promise<Attempted> {
    const { dispatchIds } = group
    // A bulk replay leaves the retries of the same endpoint their places.
    const untilMs = performance.now() + PLACE_WAIT_MS
    const free = await groups.take(`${activityInfo().taskQueue} ${group.endpoint}`, { untilMs })
    if (!free) return { acknowledged: 0, over: 0, failed: [], busy: dispatchIds }
    try {
      return attempted(dispatchIds, await allOf(dispatchIds.map((id) => attemptOne(id, group))))
    } finally {
      free()
    }
  }

  async function attemptOne(dispatchId: string, { endpoint, attempt, early, nextDelayMs }: Attempt): Promise<Made> {
    const cancelled = cancellationSignal()
    const free = await posts.take(endpoint, { signal: AbortSignal.any([cancelled, stopping]) })
    if (!free) throw new Error('the worker stops, or the workflow was cancelled')
    try {
      return await deliverOnce({
        dispatchId: uuidOf(dispatchId),
        number: attempt,
        early,
        nextDelayMs,
        signal: cancelled,
      })
    } finally {
      free()
    }
  }

  /** A fault keeps its words to the log: they could quote what a history must not hold. */
  async function ours<T>(work: () => Promise<T>): Promise<T> {
    const beat = setInterval(heartbeat, HEARTBEAT_MS)
    try {
      return await work()
    } catch (error) {
      cancellationSignal().throwIfAborted()
      failed(error)
      const { message, type } = describeError(error)
      throw ApplicationFailure.retryable(message, type)
    } finally {
      clearInterval(beat)
    }
  }

  return {
    attemptDispatches: (group: Attempt) => ours(() => attemptGroup(group)),
    finishDispatches: ({ dispatchIds, as }: { dispatchIds: string[]; as: 'exhausted' | 'cancelled' }) =>
      ours(() => finishDispatches(dispatchIds.map(uuidOf), as)),
    dropExpired: () => ours(dropExpired),
    verifyDue: () => ours(() => verifyDue(AbortSignal.any([cancellationSignal(), stopping]))),
  }
}

/** Like Promise.all, but when one fails, the others end before that is told. */
async function allOf<T>(works: Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(works)
  return Promise.all(works)
}

function attempted(dispatchIds: string[], made: Made[]): Attempted {
  const those = (...states: Made['state'][]) => dispatchIds.filter((_, index) => states.includes(made[index]!.state))
  return {
    acknowledged: those('acknowledged').length,
    over: those('ended').length,
    failed: those('failed'),
    busy: those('not_due', 'no_place'),
    lastAnswer: answersInWords(made.filter(({ state }) => state === 'failed')),
  }
}

function uuidOf(dispatchId: string): string {
  const uuid = readId('dsp', dispatchId)
  if (uuid === undefined) throw new Error(`${dispatchId} is no id of a dispatch`)
  return uuid
}
