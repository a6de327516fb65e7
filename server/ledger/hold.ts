import { createCollector, jsonArray } from '../db/collector.ts'
import { recordset } from '../db/columns.ts'
import type { Database } from '../db/connect.ts'
import { run } from '../db/statement.ts'
import type { Claim } from './claim.ts'

/** For how long a message is held. Longer than a sweeper pauses, and than a statement takes. */
const HOLD_S = 20
/** When a message is held again, at the earliest. */
export const HOLD_EVERY_MS = 5_000
const GATHER_MS = 100

// Only the message: no marker may be set by this lease (marker.ts).
const HOLD = `
  update open_messages m set lease_until = clock_timestamp() + interval '${HOLD_S} seconds'
  from json_to_recordset($1::json) as i(${recordset({ id: 'uuid', claim: 'uuid' })})
  where m.id = i.id and m.claim = i.claim and m.lease_until < clock_timestamp() + interval '${HOLD_S} seconds'`

/**
 * Hold: keeps the sweeper from a message whose end this process knows and cannot store yet. When the process dies, the
 * sweeper settles it that much later.
 */
export function createHold(db: Database): (claim: Pick<Claim, 'messageId' | 'claimId' | 'accountId'>) => Promise<void> {
  const hold = createCollector<{ json: string; accountId: string }, void>(
    async (rows) => {
      await run(db, HOLD, [jsonArray(rows)])
      return rows.map(() => undefined)
    },
    { lingerMs: GATHER_MS, groupOf: ({ accountId }) => accountId },
  )
  return ({ messageId, claimId, accountId }) =>
    hold({ accountId, json: JSON.stringify({ id: messageId, claim: claimId }) })
}
