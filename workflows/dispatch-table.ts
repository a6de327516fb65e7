import type { Round } from './rounds.ts'

// What a person who opens a workflow sees of its dispatches.

/** The event and the message of each dispatch, by its public id. */
export type DispatchSubjects = Record<string, { event: string; message: string }>

/** What is known of a dispatch. The fields are stored in histories and keep their names. */
export interface DispatchProgress {
  status: 'waiting' | 'acknowledged' | 'exhausted' | 'cancelled' | 'over before its attempt'
  /** How the endpoint last responded, such as `HTTP 503`. */
  lastResponse?: string
}

const HEAD = '| Status | Last response | Next attempt | Event | Message |\n| --- | --- | --- | --- | --- |'

/** A table in Markdown, with a row for each dispatch. The ids are last, because the UI cuts a wide table off. */
export function dispatchTable(
  subjects: DispatchSubjects,
  progress: ReadonlyMap<string, DispatchProgress>,
  rounds: readonly Round[],
): string {
  const rows = Object.entries(subjects).map(([dispatchId, { event, message }]) => {
    const { status, lastResponse = 'none yet' } = progress.get(dispatchId) ?? { status: 'waiting' }
    const round = rounds.find(({ dispatchIds }) => dispatchIds.includes(dispatchId))
    const next = round ? `attempt ${round.attempt} at ${timeText(round.dueMs)}` : 'none'
    return `| ${[status, lastResponse, next, event, message].join(' | ')} |`
  })
  return [HEAD, ...rows].join('\n')
}

export const timeText = (ms: number) => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`

/**
 * Finds the dispatches that an operator names by their own ids, or those of their events or messages. Ids that name
 * none are `unknown`.
 */
export function namedDispatches(ids: readonly string[], dispatchIds: readonly string[], subjects: DispatchSubjects) {
  const isNamed = (dispatchId: string, id: string) => {
    const { event, message } = subjects[dispatchId] ?? { event: '', message: '' }
    return [dispatchId, event, message].includes(id)
  }
  return {
    dispatchIds: ids.flatMap((id) => dispatchIds.filter((dispatchId) => isNamed(dispatchId, id))),
    unknown: ids.filter((id) => !dispatchIds.some((dispatchId) => isNamed(dispatchId, id))),
  }
}
