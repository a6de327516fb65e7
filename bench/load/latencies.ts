import type { Arrival } from './receiver.ts'

/** Milliseconds from each event's due time to its first arrival. Throws when an event did not arrive. */
export function latenciesOf(due: [eventId: string, atMs: number][], arrivals: readonly Arrival[]): number[] {
  const firstAt = new Map(arrivals.toReversed().map(({ eventId, atMs }) => [eventId, atMs]))
  return due.map(([eventId, dueMs]) => {
    const atMs = firstAt.get(eventId)
    if (atMs === undefined) throw new Error(`${eventId} did not arrive`)
    return atMs - dueMs
  })
}
