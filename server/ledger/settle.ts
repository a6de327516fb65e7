import { type RowOf, recordset } from '../db/columns.ts'
import type { Database } from '../db/connect.ts'
import { type Claim, sendRow } from './claim.ts'
import { createEndSends, TAIL_PARAMETERS } from './end-sends.ts'
import { eventIdOf } from './event-ids.ts'
import type { FirstAttempts } from './first-attempts-offer.ts'
import { takeKeysOf } from './idempotency-keys.ts'
import { CLAIMED_RECIPIENT, ENDING, type EndingRow, inputOf, OUTCOME, SEND } from './rows.ts'
import { tail } from './tail.ts'

const SETTLE_ROW = { ...SEND, sandbox: 'boolean', checks: 'json null', ...ENDING, traceparent: 'text null' } as const

export const SETTLE = `
  with ${inputOf(SETTLE_ROW)},
  ${takeKeysOf('input')},
  message as materialized (
    select * from input where key is null or id in (select message_id from taken_key)
  ),
  outcome as (
    select m.id as message_id, r.email, r.kind, o.*,
      ${eventIdOf('r.event_id')} as event_id
    from message m
    cross join lateral json_to_recordset(m.recipients) as r(${recordset(CLAIMED_RECIPIENT)})
    join lateral json_to_recordset(m.outcomes) as o(
      ${recordset(OUTCOME)}) on o.position = r.position
  ),
  ${tail(TAIL_PARAMETERS)}`

/** How a send ends that never reaches SMTP: rejected, `no_mx_record`, or a dry run. */
export interface Settlement extends EndingRow {
  sandbox: boolean
  /** The checks of a dry run, as JSON. */
  checks: object[] | undefined
}

/** Settle: claim and record in one commit. Returns false, and stores nothing, when its key belongs to another send. */
export function createSettle(
  db: Database,
  firstAttempts: FirstAttempts,
): (claim: Claim, settlement: Settlement) => Promise<boolean> {
  const end = createEndSends(db, 'settle', () => SETTLE, firstAttempts)
  return (claim, settlement) => {
    const row = { ...sendRow(claim), ...settlement, traceparent: claim.traceparent } satisfies RowOf<typeof SETTLE_ROW>
    return end({ json: JSON.stringify(row), claim, outcomes: settlement.outcomes, sandbox: settlement.sandbox })
  }
}
