import { createCollector, isLocked, isRowFault, jsonArray } from '../db/collector.ts'
import { type Columns, type RowOf, recordset } from '../db/columns.ts'
import type { Database } from '../db/connect.ts'
import { run } from '../db/statement.ts'

interface Marker {
  json: string
  messageId: string
  positions: number[]
}

/** `positions` and `taken_back` are lists of numbers. */
const MARKER_ROW = {
  message_id: 'uuid',
  claim: 'uuid',
  positions: 'json',
  taken_back: 'json',
} as const satisfies Columns

// The condition is on the row that is updated: after a wait for a lock PostgreSQL looks again at that row alone, so a
// row that the sweeper has just taken over cannot be marked.
export const MARK = `
  with input as materialized (
    select i.message_id, i.claim, p.value::smallint as position, p.is_marked
    from json_to_recordset($1::json) as i(${recordset(MARKER_ROW)}), lateral (
      select value, true as is_marked from json_array_elements_text(i.positions)
      union all
      select value, false from json_array_elements_text(i.taken_back)) as p
  )
  update open_recipients o set marked_at = case when i.is_marked then clock_timestamp() end
  from input i
  where o.message_id = i.message_id and o.position = i.position and o.claim = i.claim and o.lease_until > clock_timestamp()
  returning o.message_id, o.position`

export const markerRow = (
  messageId: string,
  claimId: string,
  positions: number[],
  takenBack: number[] = [],
): RowOf<typeof MARKER_ROW> => ({ message_id: messageId, claim: claimId, positions, taken_back: takenBack })

export type Mark = (
  messageId: string,
  claimId: string,
  positions: number[],
  takenBack?: number[],
  signal?: AbortSignal,
) => Promise<boolean>

/**
 * Marker, the second commit of a send: stores, just before the final dot, that these recipients may have the message.
 * The markers of those in `takenBack`, whose dot was refused, go in the same commit.
 * Returns false when the claim or its lease is no longer ours for any of them. A marker whose connection was lost is
 * set again, which changes nothing if it was stored, and one that waits for a lock is tried again until `signal` is
 * aborted. While this process cannot record sends, none is set but one a second, and none returns. When it throws, the
 * result is unknown. The dot may be sent only after true.
 */
export function createMarker(db: Database): Mark {
  const { recording } = db
  const commit = createCollector<Marker, boolean>(
    async (markers) => {
      const rows = await run<{ message_id: string; position: number }>(db, MARK, [jsonArray(markers)])
      const markedRecipients = new Set(rows.map(({ message_id, position }) => `${message_id}/${position}`))
      return markers.map(({ messageId, positions }) =>
        positions.every((position) => markedRecipients.has(`${messageId}/${position}`)),
      )
    },
    { load: db.load, repeatable: db, note: db.noteBatch('marker'), groupOf: ({ messageId }) => messageId },
  )
  return async (messageId, claimId, positions, takenBack, signal) => {
    const json = JSON.stringify(markerRow(messageId, claimId, positions, takenBack))
    const step = recording.begin('marker')
    for (;;) {
      try {
        await recording.untilTried(signal)
        const isMarked = await commit({ json, messageId, positions })
        step.stored()
        await recording.untilStored(signal)
        return isMarked
      } catch (error) {
        if (isLocked(error) && !signal?.aborted) continue
        if (isRowFault(error)) step.refused()
        else step.failed()
        throw error
      }
    }
  }
}
