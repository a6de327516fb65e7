import type { Round } from './rounds.ts'

// What a person reads in Temporal's UI.

/** How many dispatches ended in which way. `over` were so before their attempt: cancelled or exhausted elsewhere. */
export interface Summary {
  acknowledged: number
  exhausted: number
  cancelled: number
  over: number
}

const step = ({ attempt }: Round, attempts: number) => `attempt ${attempt} of ${attempts}`
const dispatches = (count: number) => (count === 1 ? '1 dispatch' : `${count} dispatches`)
const time = (ms: number) => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`

/** Of a timer: "attempt 3 of 6, last answer HTTP 503". */
export function timerSummary(round: Round, attempts: number, lastAnswer = 'none yet'): string {
  const before = round.backOffMs === undefined ? `last answer ${lastAnswer}` : 'all places of the endpoint were taken'
  return `${step(round, attempts)}, ${before}`
}

/** Of an activity: "attempt 3 of 6 for 12 dispatches". */
export function attemptSummary(round: Round, attempts: number): string {
  return `${step(round, attempts)} for ${dispatches(round.dispatchIds.length)}`
}

/** Details of a workflow that waits: which attempts come next, when, and what the last answer was. */
export function waiting(rounds: readonly Round[], attempts: number, lastAnswer = 'none yet'): string {
  const lines = rounds
    .toSorted((a, b) => a.dueMs - b.dueMs)
    .map((round) => `- ${attemptSummary(round, attempts)} comes at ${time(round.dueMs)}`)
  return `Last answer: ${lastAnswer}. Next:\n\n${lines.join('\n')}`
}

export function posting(round: Round, attempts: number): string {
  return `Being made now: ${attemptSummary(round, attempts)}.`
}

export function ending({ acknowledged, exhausted, cancelled, over }: Summary): string {
  return `Acknowledged: ${acknowledged}, exhausted: ${exhausted}, cancelled: ${cancelled}, over before their attempt: ${over}.`
}
