import { collector, jsonArray } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'

interface Row {
  json: string
  messageId: string
  positions: number[]
}

// The condition stands on the row that is updated: after a wait for a lock only that row is looked at again, so a row that the
// sweeper has just taken over cannot be marked.
const MARK = `
  with input as materialized (
    select i.message_id, i.claim, p.value::smallint as position
    from json_to_recordset($1::json) as i(message_id uuid, claim uuid, positions json), json_array_elements_text(i.positions) as p
  )
  update open_recipients o set marked_at = clock_timestamp()
  from input i
  where o.message_id = i.message_id and o.position = i.position and o.claim = i.claim and o.lease_until > clock_timestamp()
  returning o.message_id, o.position`

/**
 * Marker: says, just before the final dot, that these recipients may have the message from now on. False when the claim or its
 * lease is no longer ours for any of them; a throw means that nobody knows. Only after true may the dot be sent.
 */
export function markerStep(db: Database): (messageId: string, claim: string, positions: number[]) => Promise<boolean> {
  const commit = collector<Row, boolean>(async (rows) => {
    const updated = await db.$client.unsafe(MARK, [jsonArray(rows)], { prepare: true })
    const marked = new Set(updated.map(({ message_id, position }) => `${message_id}/${position}`))
    return rows.map((row) => row.positions.every((position) => marked.has(`${row.messageId}/${position}`)))
  })
  return (messageId, claim, positions) =>
    commit({ json: JSON.stringify({ message_id: messageId, claim, positions }), messageId, positions })
}
