import { ApplicationFailureCategory, type SearchAttributePair } from '@temporalio/common'
import {
  ApplicationFailure,
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
  workflowInfo,
} from '@temporalio/workflow'
import type { Activities, GroupResult } from './activities.ts'
import { ATTEMPT_OPTIONS, MINUTE_OPTIONS } from './activity-options.ts'
import { type DispatchProgress, type DispatchSubjects, dispatchTable, namedDispatches } from './dispatch-table.ts'
import { isLong } from './long-history.ts'
import { earliest, idsOf, only, type Round } from './rounds.ts'
import { ATTEMPT_NUMBER, DELIVERY_STATUS } from './search-attributes.ts'
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
interface DeliverWebhooksInput {
  /** The account's key for the count of its slots; opaque. A workflow that release 0.2 began has none. */
  account?: string
  /** The endpoint's key for the count of its slots; opaque. */
  endpoint: string
  /** The retry schedule: the delay before each attempt, counted from the failure of the previous one. */
  scheduleMs: number[]
  /** No attempt begins after it. Unix milliseconds. */
  deadlineMs: number
  /** Earlier deadlines, by the public ids of the dispatches. A workflow that release 0.2 began has none. */
  deadlines?: Record<string, number>
  rounds: Round[]
  /** What the dispatches carry. A workflow that release 0.2 began has none: it completes however its dispatches end. */
  subjects?: DispatchSubjects
  /**
   * How the endpoint last responded. This field and the next two are the results of earlier runs, if this run continues
   * one.
   */
  lastAnswer?: string
  summary?: DispatchEnds
  /** By the public ids of the dispatches. */
  progress?: Record<string, DispatchProgress>
}

/** Ids of dispatches, events or messages: an operator may type one instead of a list, or nothing for all. */
type GivenIds = string[] | string | null

/**
 * Attempts these dispatches, or all, at once. The attempt is their next one, made early. While one is running, the next
 * one follows it at once, if it fails.
 */
export const retryNow = defineSignal<[ids?: GivenIds]>('retryNow')
/** Ends these dispatches, or all, without a further attempt. */
const cancelDispatches = defineSignal<[ids?: GivenIds]>('cancel')
export const state = defineQuery<Pick<DeliverWebhooksInput, 'rounds' | 'lastAnswer' | 'summary'>>('state')

/** Workflows that began before the patch did nothing with `retryNow` while an attempt was running. */
const NEXT_WHILE_RUNNING = 'retry-now-while-running'
const FIRST_BACK_OFF_MS = 5_000
const MAX_BACK_OFF_MS = 120_000

const { attemptDispatches } = proxyActivities<Activities>(ATTEMPT_OPTIONS)
const { finishDispatches } = proxyActivities<Activities>(MINUTE_OPTIONS)

/**
 * Walks the dispatches of a group through the retry schedule (server/config/retry-schedule.ts): at once, and then 1
 * minute, 5 minutes, 15 minutes, 1 hour and 6 hours after the previous failure, within a window of 24 hours. One
 * timer and one activity make the attempts of a round. The workflow fails with `WebhookExhausted` when a dispatch was
 * exhausted: red in Temporal's UI means an event that its endpoint did not get. Everything else completes.
 */
export async function deliverWebhooks(input: DeliverWebhooksInput): Promise<DispatchEnds> {
  const group = new DispatchGroup(input)
  setHandler(state, () => group.state)
  setHandler(retryNow, (ids) => group.retryNow(ids))
  setHandler(cancelDispatches, (ids) => group.cancel(ids))
  try {
    for (let next = earliest(group.rounds); next !== undefined; next = earliest(group.rounds)) {
      const over = group.overIn(next)
      if (group.cancelled.size > 0) await group.endCancelled()
      else if (over.length > 0) await group.exhaust(over)
      else if (isLong())
        await continueAsNew<typeof deliverWebhooks>({
          ...input,
          ...group.state,
          progress: Object.fromEntries(group.progress),
        })
      else if (next.dueMs > Date.now()) await group.waitFor(next)
      else await group.attempt(next)
    }
  } catch (error) {
    // An operator cancelled the workflow itself, in Temporal's UI.
    if (isCancellation(error)) await group.end(idsOf(group.rounds), 'cancelled').then(() => group.showEnd())
    throw error
  }
  group.showEnd()
  const { summary, lastAnswer } = group
  if (input.subjects && summary.exhausted > 0) throw exhaustedFailure(summary, lastAnswer)
  return summary
}

class DispatchGroup {
  readonly #input: DeliverWebhooksInput
  readonly progress: Map<string, DispatchProgress>
  readonly summary: DispatchEnds
  rounds: Round[]
  lastAnswer: string | undefined
  #currentRound: Round | undefined
  #signals = 0
  /** Ids of the last signal that name no dispatch of this workflow. */
  #unknown: string[] = []
  readonly cancelled = new Set<string>()
  /** Whose attempt was running when a person asked for the next one. */
  readonly #hastened = new Set<string>()

  constructor(input: DeliverWebhooksInput) {
    this.#input = input
    this.progress = new Map(Object.entries(input.progress ?? {}))
    this.summary = input.summary ?? { acknowledged: 0, exhausted: 0, cancelled: 0, over: 0 }
    this.rounds = input.rounds
    this.lastAnswer = input.lastAnswer
  }

  get state() {
    const { rounds, lastAnswer, summary } = this
    return { rounds, lastAnswer, summary }
  }

  retryNow(ids: GivenIds | undefined): void {
    this.#signals++
    const chosen = this.#chosenIds(ids)
    this.rounds = hasten(this.rounds, this.#currentRound, chosen)
    for (const id of this.#currentRound?.dispatchIds ?? []) if (chosen.includes(id)) this.#hastened.add(id)
  }

  cancel(ids: GivenIds | undefined): void {
    this.#signals++
    for (const id of this.#chosenIds(ids)) this.cancelled.add(id)
  }

  /** Returns the dispatches that a signal names; all that are not over for a signal without ids. */
  #chosenIds(ids: GivenIds | undefined): string[] {
    if (ids === null || ids === undefined) return idsOf(this.rounds)
    const named = namedDispatches([ids].flat(), idsOf(this.rounds), this.#input.subjects ?? {})
    this.#unknown = named.unknown
    return named.dispatchIds
  }

  #showDetails(text: string): void {
    const { subjects } = this.#input
    const table = subjects ? `\n\n${dispatchTable(subjects, this.progress, this.rounds)}` : ''
    const note = this.#unknown.length > 0 ? `\n\n${unknownText(this.#unknown)}` : ''
    setCurrentDetails(`${text}${table}${note}`)
  }

  /** Waits until the attempt is due, or a signal changes what comes next. */
  async waitFor(round: Round): Promise<void> {
    const { length } = this.#input.scheduleMs
    this.#showDetails(waitingDetails(this.rounds, length, this.lastAnswer))
    const signalsBefore = this.#signals
    const timer = { summary: timerSummary(round, length, this.lastAnswer) }
    await condition(() => this.#signals !== signalsBefore, round.dueMs - Date.now(), timer)
  }

  async attempt(round: Round): Promise<void> {
    const { account, endpoint, scheduleMs } = this.#input
    const { dispatchIds, attempt, early, backOffMs } = round
    this.#currentRound = round
    this.#showDetails(attemptDetails(round, scheduleMs.length))
    this.#showAttribute(ATTEMPT_NUMBER, attempt)
    const result = await attemptDispatches.executeWithOptions({ summary: attemptSummary(round, scheduleMs.length) }, [
      { dispatchIds, attempt, account, endpoint, early, nextDelayMs: scheduleMs[attempt] },
    ])
    this.#currentRound = undefined
    this.summary.acknowledged += result.acknowledged
    this.summary.over += result.over
    this.lastAnswer = result.lastAnswer ?? this.lastAnswer
    for (const id of dispatchIds) this.progress.set(id, progressOf(id, result, this.progress.get(id)))
    const failed = { dispatchIds: result.failed, attempt: attempt + 1, dueMs: Date.now() + (scheduleMs[attempt] ?? 0) }
    const busy = { dispatchIds: result.busy, attempt, early, ...backOff(backOffMs) }
    this.rounds = [...this.rounds.filter((other) => other !== round), ...only([failed, busy], () => true)]
    const failedAndHastened = result.failed.filter((id) => this.#hastened.has(id))
    this.#hastened.clear()
    if (failedAndHastened.length > 0 && patched(NEXT_WHILE_RUNNING))
      this.rounds = hasten(this.rounds, undefined, failedAndHastened)
  }

  async endCancelled(): Promise<void> {
    const dispatchIds = idsOf(this.rounds).filter((id) => this.cancelled.has(id))
    this.rounds = only(this.rounds, (id) => !this.cancelled.has(id))
    this.cancelled.clear()
    await this.end(dispatchIds, 'cancelled')
  }

  /** The dispatches of a round that get no further attempt. */
  overIn({ dispatchIds, attempt, dueMs }: Round): string[] {
    const { scheduleMs, deadlineMs, deadlines = {} } = this.#input
    if (attempt > scheduleMs.length) return dispatchIds
    const beginsMs = Math.max(dueMs, Date.now())
    return dispatchIds.filter((id) => beginsMs > (deadlines[id] ?? deadlineMs))
  }

  async exhaust(dispatchIds: string[]): Promise<void> {
    this.rounds = only(this.rounds, (id) => !dispatchIds.includes(id))
    await this.end(dispatchIds, 'exhausted')
  }

  async end(dispatchIds: string[], as: 'exhausted' | 'cancelled'): Promise<void> {
    if (dispatchIds.length === 0) return
    await CancellationScope.nonCancellable(() => finishDispatches({ dispatchIds, as }))
    this.summary[as] += dispatchIds.length
    for (const id of dispatchIds) this.progress.set(id, { ...this.progress.get(id), status: as })
  }

  showEnd(): void {
    this.rounds = []
    this.#showAttribute(DELIVERY_STATUS, statusOf(this.summary))
    this.#showDetails(endDetails(this.summary, this.lastAnswer))
  }

  /**
   * A namespace may lack attributes: its workflows begin without them. Workflows of release 0.2 set only the status.
   */
  #showAttribute(key: typeof ATTEMPT_NUMBER | typeof DELIVERY_STATUS, value: number | string): void {
    const { subjects } = this.#input
    const isSet = subjects ? workflowInfo().typedSearchAttributes.get(key) !== undefined : key === DELIVERY_STATUS
    if (isSet) upsertSearchAttributes([{ key, value } as SearchAttributePair])
  }
}

/** What an attempt has changed of a dispatch. A dispatch that got no slot stays as it was. */
function progressOf(
  id: string,
  result: GroupResult,
  before: DispatchProgress = { status: 'waiting' },
): DispatchProgress {
  if (result.busy.includes(id)) return before
  // Another process may have made the attempt: what the endpoint said to that one is not known.
  if (result.failed.includes(id))
    return { status: 'waiting', lastResponse: result.answers ? (result.answers[id] ?? 'unknown') : result.lastAnswer }
  return result.acknowledgedIds?.includes(id)
    ? { status: 'acknowledged', lastResponse: 'HTTP 200' }
    : { ...before, status: 'over before its attempt' }
}

/** Red in Temporal's UI, and no fault of the service: it counts in no metric of errors. */
function exhaustedFailure(summary: DispatchEnds, lastAnswer = 'none'): ApplicationFailure {
  const { acknowledged, exhausted, cancelled, over } = summary
  const events = acknowledged + exhausted + cancelled + over
  const what = events === 1 ? 'the event' : `${exhausted} of ${events} events`
  return ApplicationFailure.create({
    type: 'WebhookExhausted',
    message: `The endpoint did not acknowledge ${what}. Its last response: ${lastAnswer}.`,
    details: [summary],
    nonRetryable: true,
    category: ApplicationFailureCategory.BENIGN,
  })
}

const MAX_SHOWN_IDS = 5
const MAX_ID = 64

function unknownText(ids: readonly string[]): string {
  const shown = ids.slice(0, MAX_SHOWN_IDS).map((id) => String(id).slice(0, MAX_ID))
  return `The last signal named ids that are not of this workflow, or whose dispatches are over: ${shown.join(', ')}.`
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
