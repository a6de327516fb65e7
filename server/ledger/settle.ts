import { type Columns, type RowOf, recordset } from '../db/columns.ts'
import type { Database } from '../db/connect.ts'
import { type Claim, sendRow } from './claim.ts'
import { eventIdOf } from './event-ids.ts'
import type { FirstAttempts } from './first-attempts-offer.ts'
import { takeKeysOf } from './idempotency-keys.ts'
import { RECIPIENT_KEYS, recipientKeyRows, takeRecipientKeysOf } from './recipient-keys.ts'
import { createEndSends, TAIL_PARAMETERS } from './record.ts'
import { RETRIES, retryRows, takeRetriesOf } from './retries.ts'
import { CLAIMED_RECIPIENT, ENDING, type EndingRow, inputOf, OUTCOME, SEND } from './rows.ts'
import { OF_REQUEST, tail } from './tail.ts'

const SETTLE_ROW = { ...SEND, sandbox: 'boolean', checks: 'json null', ...ENDING, traceparent: 'text null' } as const

const settleOf = (row: Columns, more = '') => `
  with ${inputOf(row)},
  ${takeKeysOf('input')},
  message as materialized (
    select *, ${OF_REQUEST} from input m where key is null or id in (select message_id from taken_key)
  ),${more}
  outcome as (
    select m.id as message_id, r.email, r.kind, o.*,
      ${eventIdOf('r.event_id')} as event_id
    from message m
    cross join lateral json_to_recordset(m.recipients) as r(${recordset(CLAIMED_RECIPIENT)})
    join lateral json_to_recordset(m.outcomes) as o(
      ${recordset(OUTCOME)}) on o.position = r.position
  ),
  ${tail(TAIL_PARAMETERS)}`

export const SETTLE = settleOf(SETTLE_ROW)

/** The same for sends that retry others, or whose recipients have keys. */
export const SETTLE_RETRIES = settleOf(
  { ...SETTLE_ROW, ...RETRIES, ...RECIPIENT_KEYS },
  `${takeRetriesOf('message')},${takeRecipientKeysOf('message')},`,
)

/** How a send ends that never reaches SMTP: rejected, `no_mx_record`, or a dry run. */
export interface Settlement extends EndingRow {
  sandbox: boolean
  /** The checks of a dry run, as JSON. */
  checks: object[] | undefined
}

/**
 * Settle: claim and record in one commit. Returns false, and stores nothing, when its key belongs to another send.
 * Fails when another send has retried a recipient or has its key: see `isTaken` and `isKeyTaken`.
 */
export function createSettle(
  db: Database,
  firstAttempts: FirstAttempts,
): (claim: Claim, settlement: Settlement) => Promise<boolean> {
  const end = createEndSends(db, 'settle', () => SETTLE, firstAttempts)
  // Apart, because a retry that is taken fails the statement of all its rows.
  const endRetry = createEndSends(db, 'settle', () => SETTLE_RETRIES, firstAttempts)
  return (claim, settlement) => {
    const row = {
      ...sendRow(claim),
      ...settlement,
      traceparent: claim.traceparent,
      retries: retryRows(claim),
      recipient_keys: recipientKeyRows(claim.recipientKeys),
    } satisfies RowOf<typeof SETTLE_ROW & typeof RETRIES & typeof RECIPIENT_KEYS>
    return (claim.retry || claim.recipientKeys ? endRetry : end)({
      json: JSON.stringify(row),
      claim,
      outcomes: settlement.outcomes,
      sandbox: settlement.sandbox,
    })
  }
}
