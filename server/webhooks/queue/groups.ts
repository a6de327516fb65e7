/** A dispatch that waits for a workflow. Ids are UUIDs, times Unix milliseconds. */
export interface PendingDispatch {
  id: string
  endpointId: string
  /** The number of the next attempt. */
  attempt: number
  dueMs: number
}

/** The first dispatch of a group waits for the last one, unless both are due. */
const MAX_SPREAD_MS = 2_000
/**
 * How long a dispatch waits after a failure for others to join its group. The next attempt is a while away. First
 * attempts never wait.
 */
const HOLD_MS = 1_000

interface GroupLimits {
  /** The retry schedule: the delay before each attempt. */
  scheduleMs: readonly number[]
  /** Dispatches of one group. */
  maxGroup: number
}

/**
 * Groups the dispatches that one workflow takes on: those of one endpoint, with the same next attempt, that are due at
 * about the same time, or already. So the more dispatches wait for a start, the larger the groups are. The rows of an
 * endpoint and attempt are together, in the order of their due times. Leaves out groups that other dispatches may
 * still join.
 */
export function groupDispatches<Row extends PendingDispatch>(
  rows: readonly Row[],
  nowMs: number,
  { scheduleMs, maxGroup }: GroupLimits,
): [Row, ...Row[]][] {
  const groups: [Row, ...Row[]][] = []
  for (const row of rows) {
    const group = groups.at(-1)
    if (group && group.length < maxGroup && belongTogether(row, group[0], nowMs)) group.push(row)
    else groups.push([row])
  }
  return groups.filter((group) => {
    const { attempt, dueMs } = group[0]
    const failedMs = dueMs - (scheduleMs[attempt - 1] ?? 0)
    return group.length === maxGroup || attempt === 1 || nowMs - failedMs >= HOLD_MS
  })
}

function belongTogether(row: PendingDispatch, first: PendingDispatch, nowMs: number): boolean {
  const isAlike = row.endpointId === first.endpointId && row.attempt === first.attempt
  return isAlike && (row.dueMs <= nowMs || row.dueMs - first.dueMs <= MAX_SPREAD_MS)
}
