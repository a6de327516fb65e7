import {
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import type { Activities } from './activities.ts'
import { ATTEMPT_OPTIONS, FINISH_OPTIONS } from './activity-options.ts'
import { earliest, idsOf, only, type Round } from './rounds.ts'
import { DELIVERY_STATUS } from './search-attributes.ts'
import { attemptSummary, ending, posting, type Summary, timerSummary, waiting } from './summaries.ts'

/** What a workflow is given: ids, times and an opaque key. Nothing personal enters a history. */
export interface Delivery {
  /** Stands for the endpoint where places at it are counted. */
  endpoint: string
  /** The retry schedule: what to wait after a failure, before the attempt of this index + 1. */
  scheduleMs: number[]
  /** No attempt begins after it. Unix milliseconds. */
  deadlineMs: number
  rounds: Round[]
  /** Of the runs before, when this one continues them. */
  lastAnswer?: string
  summary?: Summary
}

/** Attempts these dispatches, or all, at once. It is their next attempt, made early. */
export const retryNow = defineSignal<[dispatchIds?: string[] | string]>('retryNow')
/** Ends these dispatches, or all, without a further attempt. */
export const cancel = defineSignal<[dispatchIds?: string[] | string]>('cancel')
export const state = defineQuery<Pick<Delivery, 'rounds' | 'lastAnswer' | 'summary'>>('state')

const FIRST_BACK_OFF_MS = 5_000
const MAX_BACK_OFF_MS = 120_000
/** Events after which a workflow continues as a new run. */
const LONG_HISTORY = 500

const { attemptDispatches } = proxyActivities<Activities>(ATTEMPT_OPTIONS)
const { finishDispatches } = proxyActivities<Activities>(FINISH_OPTIONS)

/**
 * Walks dispatches of one endpoint through the retry schedule (server/config/retry-schedule.ts): at once, and 1 minute,
 * 5 minutes, 15 minutes, 1 hour and 6 hours after the failure before, inside a window of 24 hours. One timer and one
 * activity make an attempt for all dispatches that are at the same step. It completes however they end: a failed workflow
 * is a fault of ours.
 */
export async function deliverWebhooks(delivery: Delivery): Promise<Summary> {
  const { endpoint, scheduleMs, deadlineMs } = delivery
  const summary = delivery.summary ?? { acknowledged: 0, exhausted: 0, cancelled: 0, over: 0 }
  let { rounds, lastAnswer } = delivery
  let running: Round | undefined
  let signals = 0
  const cancelled = new Set<string>()

  setHandler(state, () => ({ rounds, lastAnswer, summary }))
  setHandler(retryNow, (dispatchIds) => {
    signals++
    rounds = hasten(rounds, running, named(dispatchIds))
  })
  setHandler(cancel, (dispatchIds) => {
    signals++
    for (const id of named(dispatchIds) ?? idsOf(rounds)) cancelled.add(id)
  })

  try {
    for (let next = earliest(rounds); next !== undefined; next = earliest(rounds)) {
      if (cancelled.size > 0) await endCancelled()
      else if (next.attempt > scheduleMs.length || Math.max(next.dueMs, Date.now()) > deadlineMs) await exhaust(next)
      else if (isLong()) await continueAsNew<typeof deliverWebhooks>({ ...delivery, rounds, lastAnswer, summary })
      else if (next.dueMs > Date.now()) await waitFor(next)
      else await attempt(next)
    }
  } catch (error) {
    // The workflow itself was cancelled, in Temporal's UI.
    if (isCancellation(error)) await end(rounds, 'cancelled').then(showEnd)
    throw error
  }
  showEnd()
  return summary

  /** Until the attempt is due, or a signal changes what comes next. */
  async function waitFor(round: Round): Promise<void> {
    setCurrentDetails(waiting(rounds, scheduleMs.length, lastAnswer))
    const seen = signals
    const timer = { summary: timerSummary(round, scheduleMs.length, lastAnswer) }
    await condition(() => signals !== seen, round.dueMs - Date.now(), timer)
  }

  async function attempt(round: Round): Promise<void> {
    const { dispatchIds, attempt, early, backOffMs } = round
    running = round
    setCurrentDetails(posting(round, scheduleMs.length))
    const made = await attemptDispatches.executeWithOptions({ summary: attemptSummary(round, scheduleMs.length) }, [
      { dispatchIds, attempt, endpoint, early, nextDelayMs: scheduleMs[attempt] },
    ])
    running = undefined
    summary.acknowledged += made.acknowledged
    summary.over += made.over
    lastAnswer = made.lastAnswer ?? lastAnswer
    const failed = { dispatchIds: made.failed, attempt: attempt + 1, dueMs: Date.now() + (scheduleMs[attempt] ?? 0) }
    const busy = { dispatchIds: made.busy, attempt, early, ...backOff(backOffMs) }
    rounds = [...rounds.filter((other) => other !== round), ...only([failed, busy], () => true)]
  }

  async function endCancelled(): Promise<void> {
    const ended = only(rounds, (id) => cancelled.has(id))
    rounds = only(rounds, (id) => !cancelled.has(id))
    cancelled.clear()
    await end(ended, 'cancelled')
  }

  async function exhaust(round: Round): Promise<void> {
    rounds = rounds.filter((other) => other !== round)
    await end([round], 'exhausted')
  }

  async function end(ended: Round[], as: 'exhausted' | 'cancelled'): Promise<void> {
    const dispatchIds = idsOf(ended)
    if (dispatchIds.length === 0) return
    await CancellationScope.nonCancellable(() => finishDispatches({ dispatchIds, as }))
    summary[as] += dispatchIds.length
  }

  function showEnd(): void {
    upsertSearchAttributes([{ key: DELIVERY_STATUS, value: statusOf(summary) }])
    setCurrentDetails(ending(summary))
  }
}

/** A signal may be typed by a person: one id instead of a list, nothing for all. */
function named(dispatchIds: string[] | string | null | undefined): string[] | undefined {
  return dispatchIds === null || dispatchIds === undefined ? undefined : [dispatchIds].flat()
}

/** These dispatches, or all, are due now, but for those whose attempt is being made. */
function hasten(rounds: Round[], running: Round | undefined, dispatchIds = idsOf(rounds)): Round[] {
  const waiting = rounds.filter((round) => round !== running)
  const now = only(waiting, (id) => dispatchIds.includes(id)).map((round) => ({
    ...round,
    dueMs: Date.now(),
    early: true,
  }))
  const later = only(waiting, (id) => !dispatchIds.includes(id))
  return [...(running ? [running] : []), ...now, ...later]
}

/** Groups that found no place at the same moment do not come back at the same moment. */
function backOff(beforeMs = FIRST_BACK_OFF_MS / 2): Pick<Round, 'backOffMs' | 'dueMs'> {
  const backOffMs = Math.min(beforeMs * 2, MAX_BACK_OFF_MS)
  return { backOffMs, dueMs: Date.now() + Math.round(backOffMs * (0.5 + Math.random())) }
}

/** The worst end that a dispatch of the group had. */
function statusOf({ exhausted, cancelled, over }: Summary): string {
  if (exhausted > 0) return 'exhausted'
  return cancelled + over > 0 ? 'cancelled' : 'acknowledged'
}

function isLong(): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo()
  return historyLength > LONG_HISTORY || continueAsNewSuggested
}
