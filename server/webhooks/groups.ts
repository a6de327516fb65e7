/** A dispatch that waits for somebody to work on it. Ids are UUIDs, times Unix milliseconds. */
export interface Waiting {
  id: string
  accountId: string
  /** The number of the next attempt. */
  attempt: number
  dueMs: number
}

/** The ids of more events would not fit into a search attribute of Temporal, 2,048 octets. */
const MAX_GROUP = 50
/** The first of a group waits for the last. */
const MAX_SPREAD_MS = 2_000
/** A failure waits so long for company before it is handed over; the next attempt is a while away. First attempts never wait. */
const HOLD_MS = 1_000

/**
 * Puts dispatches together that one workflow takes on: of one account, with the same next attempt, which failed at about the same time.
 * `rows` come in the order of account, attempt and due time. Leaves out groups that others may still join.
 */
export function groupDispatches<Row extends Waiting>(
  rows: readonly Row[],
  nowMs: number,
  scheduleMs: readonly number[],
): Row[][] {
  const groups: Row[][] = []
  for (const row of rows) {
    const group = groups.at(-1)
    if (group && group.length < MAX_GROUP && isOfKind(row, group[0]!)) group.push(row)
    else groups.push([row])
  }
  return groups.filter((group) => {
    const { attempt, dueMs } = group[0]!
    const failedMs = dueMs - (scheduleMs[attempt - 1] ?? 0)
    return group.length === MAX_GROUP || attempt === 1 || nowMs - failedMs >= HOLD_MS
  })
}

function isOfKind(row: Waiting, first: Waiting): boolean {
  return row.accountId === first.accountId && row.attempt === first.attempt && row.dueMs - first.dueMs <= MAX_SPREAD_MS
}
