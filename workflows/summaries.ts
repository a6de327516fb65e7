import { timeText } from './dispatch-table.ts'
import type { Round } from './rounds.ts'

// The texts of a workflow in Temporal's UI.

/**
 * How many dispatches ended in which way. `over` counts those that were cancelled or exhausted before their attempt.
 */
export interface DispatchEnds {
  acknowledged: number
  exhausted: number
  cancelled: number
  over: number
}

const step = ({ attempt }: Round, attempts: number) => `attempt ${attempt} of ${attempts}`
const dispatches = (count: number) => (count === 1 ? '1 dispatch' : `${count} dispatches`)

/** The summary of a timer: "attempt 3 of 6, last answer HTTP 503". */
export function timerSummary(round: Round, attempts: number, lastAnswer = 'none yet'): string {
  const before = round.backOffMs === undefined ? `last answer ${lastAnswer}` : 'all slots of the endpoint were in use'
  return `${step(round, attempts)}, ${before}`
}

/** The summary of an activity: "attempt 3 of 6 for 12 dispatches". */
export function attemptSummary(round: Round, attempts: number): string {
  return `${step(round, attempts)} for ${dispatches(round.dispatchIds.length)}`
}

/** The details of a workflow that waits: the last response, its next attempts and their times. */
export function waitingDetails(rounds: readonly Round[], attempts: number, lastAnswer?: string): string {
  const lines = rounds
    .toSorted((a, b) => a.dueMs - b.dueMs)
    .map((round) => `- ${attemptSummary(round, attempts)} comes at ${timeText(round.dueMs)}`)
  return `**Not delivered yet.** ${answerText(lastAnswer)} Next:\n\n${lines.join('\n')}`
}

const answerText = (lastAnswer: string | undefined) =>
  lastAnswer ? `Last response of the endpoint: ${lastAnswer}.` : 'No attempt has ended.'

/** The details of a workflow whose attempt is running. */
export function attemptDetails(round: Round, attempts: number): string {
  return `**Being delivered now:** ${attemptSummary(round, attempts)}.`
}

/** The details of a workflow that is over. */
export function endDetails(ends: DispatchEnds, lastAnswer?: string): string {
  const { acknowledged, exhausted, cancelled, over } = ends
  const counts = `Acknowledged: ${acknowledged}, lost: ${exhausted}, cancelled: ${cancelled}, over before their attempt: ${over}.`
  return `${verdictOf(ends, lastAnswer)}\n\n${counts}`
}

function verdictOf({ exhausted, cancelled, over }: DispatchEnds, lastAnswer: string | undefined): string {
  if (exhausted > 0)
    return `**Lost.** The endpoint did not acknowledge it in time. ${answerText(lastAnswer)} When the endpoint works again, replay the event: \`npx verdict replay evt_...\`.`
  if (cancelled + over > 0) return '**Ended without a delivery:** cancelled, or another attempt had ended it.'
  return '**Delivered.** The endpoint has acknowledged everything.'
}

/** The details of a replay of many events. */
export function replayDetails({
  state,
  dispatched,
  total,
}: {
  state: string
  dispatched: number
  total: number
}): string {
  return `Dispatched ${dispatched} of ${total} events. The replay is ${state}.`
}
