import {
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow'
import type { Activities } from './activities.ts'
import { ATTEMPT_OPTIONS, FINISH_OPTIONS } from './activity-options.ts'
import { isLong } from './long-history.ts'
import { earliest, idsOf, only, type Round } from './rounds.ts'
import { DELIVERY_STATUS } from './search-attributes.ts'
import {
  attemptDetails,
  attemptSummary,
  type DispatchEnds,
  endDetails,
  timerSummary,
  waitingDetails,
} from './summaries.ts'

/**
 * The input of a workflow: ids, times and an opaque key. Nothing personal enters a history. The fields are stored in
 * histories and keep their names.
 */
export interface DeliverWebhooksInput {
  /** The endpoint's key for the count of its slots; opaque. */
  endpoint: string
  /** The retry schedule: the delay before each attempt, counted from the failure of the previous one. */
  scheduleMs: number[]
  /** No attempt begins after it. Unix milliseconds. */
  deadlineMs: number
  rounds: Round[]
  /**
   * How the endpoint last responded. This field and the next are the results of earlier runs, if this run continues
   * one.
   */
  lastAnswer?: string
  summary?: DispatchEnds
}

/**
 * Attempts these dispatches, or all, at once. The attempt is their next one, made early. While one is running, the next
 * one follows it at once, if it fails.
 */
export const retryNow = defineSignal<[dispatchIds?: string[] | string]>('retryNow')
/** Ends these dispatches, or all, without a further attempt. */
export const cancelDispatches = defineSignal<[dispatchIds?: string[] | string]>('cancel')
export const state = defineQuery<Pick<DeliverWebhooksInput, 'rounds' | 'lastAnswer' | 'summary'>>('state')

/** Workflows that began before the patch did nothing with `retryNow` while an attempt was running. */
const NEXT_WHILE_RUNNING = 'retry-now-while-running'
const FIRST_BACK_OFF_MS = 5_000
const MAX_BACK_OFF_MS = 120_000

const { attemptDispatches } = proxyActivities<Activities>(ATTEMPT_OPTIONS)
const { finishDispatches } = proxyActivities<Activities>(FINISH_OPTIONS)

/**
 * Walks the dispatches of a group through the retry schedule (server/config/retry-schedule.ts): at once, and then 1
 * minute, 5 minutes, 15 minutes, 1 hour and 6 hours after the previous failure, within a window of 24 hours. One
 * timer and one activity make the attempts of a round. The workflow completes however its dispatches end. A failed
 * workflow means a fault of the service.
 */
export async function deliverWebhooks(input: DeliverWebhooksInput): Promise<DispatchEnds> {
  const { endpoint, scheduleMs, deadlineMs } = input
  const summary = input.summary ?? { acknowledged: 0, exhausted: 0, cancelled: 0, over: 0 }
  let { rounds, lastAnswer } = input
  let currentRound: Round | undefined
  let signals = 0
  const cancelled = new Set<string>()
  /** Whose attempt was running when a person asked for the next one. */
  const hastened = new Set<string>()

  setHandler(state, () => ({ rounds, lastAnswer, summary }))
  setHandler(retryNow, (dispatchIds) => {
    signals++
    const chosen = chosenIds(dispatchIds) ?? idsOf(rounds)
    rounds = hasten(rounds, currentRound, chosen)
    for (const id of currentRound?.dispatchIds ?? []) if (chosen.includes(id)) hastened.add(id)
  })
  setHandler(cancelDispatches, (dispatchIds) => {
    signals++
    for (const id of chosenIds(dispatchIds) ?? idsOf(rounds)) cancelled.add(id)
  })

  try {
    for (let next = earliest(rounds); next !== undefined; next = earliest(rounds)) {
      if (cancelled.size > 0) await endCancelled()
      else if (next.attempt > scheduleMs.length || Math.max(next.dueMs, Date.now()) > deadlineMs) await exhaust(next)
      else if (isLong()) await continueAsNew<typeof deliverWebhooks>({ ...input, rounds, lastAnswer, summary })
      else if (next.dueMs > Date.now()) await waitFor(next)
      else await attempt(next)
    }
  } catch (error) {
    // An operator cancelled the workflow itself, in Temporal's UI.
    if (isCancellation(error)) await end(rounds, 'cancelled').then(showEnd)
    throw error
  }
  showEnd()
  return summary

  /** Waits until the attempt is due, or a signal changes what comes next. */
  async function waitFor(round: Round): Promise<void> {
    setCurrentDetails(waitingDetails(rounds, scheduleMs.length, lastAnswer))
    const signalsBefore = signals
    const timer = { summary: timerSummary(round, scheduleMs.length, lastAnswer) }
    await condition(() => signals !== signalsBefore, round.dueMs - Date.now(), timer)
  }

  async function attempt(round: Round): Promise<void> {
    const { dispatchIds, attempt, early, backOffMs } = round
    currentRound = round
    setCurrentDetails(attemptDetails(round, scheduleMs.length))
    const result = await attemptDispatches.executeWithOptions({ summary: attemptSummary(round, scheduleMs.length) }, [
      { dispatchIds, attempt, endpoint, early, nextDelayMs: scheduleMs[attempt] },
    ])
    currentRound = undefined
    summary.acknowledged += result.acknowledged
    summary.over += result.over
    lastAnswer = result.lastAnswer ?? lastAnswer
    const failed = { dispatchIds: result.failed, attempt: attempt + 1, dueMs: Date.now() + (scheduleMs[attempt] ?? 0) }
    const busy = { dispatchIds: result.busy, attempt, early, ...backOff(backOffMs) }
    rounds = [...rounds.filter((other) => other !== round), ...only([failed, busy], () => true)]
    const failedAndHastened = result.failed.filter((id) => hastened.has(id))
    hastened.clear()
    if (failedAndHastened.length > 0 && patched(NEXT_WHILE_RUNNING))
      rounds = hasten(rounds, undefined, failedAndHastened)
  }

  async function endCancelled(): Promise<void> {
    const cancelledRounds = only(rounds, (id) => cancelled.has(id))
    rounds = only(rounds, (id) => !cancelled.has(id))
    cancelled.clear()
    await end(cancelledRounds, 'cancelled')
  }

  async function exhaust(round: Round): Promise<void> {
    rounds = rounds.filter((other) => other !== round)
    await end([round], 'exhausted')
  }

  async function end(endedRounds: Round[], as: 'exhausted' | 'cancelled'): Promise<void> {
    const dispatchIds = idsOf(endedRounds)
    if (dispatchIds.length === 0) return
    await CancellationScope.nonCancellable(() => finishDispatches({ dispatchIds, as }))
    summary[as] += dispatchIds.length
  }

  function showEnd(): void {
    upsertSearchAttributes([{ key: DELIVERY_STATUS, value: statusOf(summary) }])
    setCurrentDetails(endDetails(summary))
  }
}

/** Reads the argument of a signal. An operator may type one id instead of a list, or nothing for all dispatches. */
function chosenIds(dispatchIds: string[] | string | null | undefined): string[] | undefined {
  return dispatchIds === null || dispatchIds === undefined ? undefined : [dispatchIds].flat()
}

/** Makes these dispatches due now. The current round, whose attempt is running, stays as it is. */
function hasten(rounds: Round[], currentRound: Round | undefined, dispatchIds: string[]): Round[] {
  const waiting = rounds.filter((round) => round !== currentRound)
  const now = only(waiting, (id) => dispatchIds.includes(id)).map((round) => ({
    ...round,
    dueMs: Date.now(),
    early: true,
  }))
  const later = only(waiting, (id) => !dispatchIds.includes(id))
  return [...(currentRound ? [currentRound] : []), ...now, ...later]
}

/**
 * Doubles the wait for a slot. A random part keeps groups that waited together from coming back at the same moment.
 */
function backOff(previousMs = FIRST_BACK_OFF_MS / 2): Pick<Round, 'backOffMs' | 'dueMs'> {
  const backOffMs = Math.min(previousMs * 2, MAX_BACK_OFF_MS)
  return { backOffMs, dueMs: Date.now() + Math.round(backOffMs * (0.5 + Math.random())) }
}

/** The worst end of the group's dispatches. */
function statusOf({ exhausted, cancelled, over }: DispatchEnds): string {
  if (exhausted > 0) return 'exhausted'
  return cancelled + over > 0 ? 'cancelled' : 'acknowledged'
}
