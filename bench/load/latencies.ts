import type { Arrival } from './receiver.ts'

/** What passed between when each event was due and its first arrival, in ms. Throws when one did not arrive. */
export function latenciesOf(due: [eventId: string, atMs: number][], arrivals: readonly Arrival[]): number[] {
  const firstAt = new Map(arrivals.toReversed().map(({ eventId, atMs }) => [eventId, atMs]))
  return due.map(([eventId, dueMs]) => {
    const atMs = firstAt.get(eventId)
    if (atMs === undefined) throw new Error(`${eventId} did not arrive`)
    return atMs - dueMs
  })
}
