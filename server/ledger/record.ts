import { type RowOf, recordset } from '../db/columns.ts'
import type { Database } from '../db/connect.ts'
import type { Claim } from './claim.ts'
import { createEndSends, type EndingSend, TAIL_PARAMETERS } from './end-sends.ts'
import { eventIdOf } from './event-ids.ts'
import type { FirstAttempts } from './first-attempts-offer.ts'
import { ENDING, type EndingRow, inputOf, OUTCOME } from './rows.ts'
import { type TailParts, tail } from './tail.ts'

const RECORD_ROW = { message_id: 'uuid', claim: 'uuid', ...ENDING, traceparent: 'text null' } as const

// The message row goes first and carries everything else: locks are taken in the order message, recipient everywhere.
const recordWith = (parts: TailParts) => `
  with ${inputOf(RECORD_ROW)},
  message as (
    delete from open_messages m using input i where m.id = i.message_id and m.claim = i.claim
    returning m.id, m.account_id, m.created_at, m.tenant_id, m.region, m.request, m.domain,
      false as sandbox, null::json as checks, i.status, i.reason, i.size_bytes, i.digest, i.outcomes,
      i.traceparent
  ),
  recipient as (
    delete from open_recipients o using message m where o.message_id = m.id
    returning o.message_id, o.position, o.event_id, o.email, o.kind
  ),
  outcome as (
    select r.message_id, r.email, r.kind, o.*,
      ${eventIdOf('r.event_id')} as event_id
    from message m
    cross join lateral json_to_recordset(m.outcomes) as o(
      ${recordset(OUTCOME)})
    join recipient r on r.message_id = m.id and r.position = o.position
  ),
  ${tail(parts)}`

export const RECORD = recordWith(TAIL_PARAMETERS)

/** The same for sends of which every email was delivered: nearly all. */
export const RECORD_DELIVERED = recordWith({ ...TAIL_PARAMETERS, isDelivered: true })

const statementFor = (sends: readonly EndingSend[]) =>
  sends.every(({ outcomes }) => outcomes.every(({ status }) => status === 'delivered')) ? RECORD_DELIVERED : RECORD

/**
 * Record: the outcomes of a claimed send and their events, in one commit. Returns false when the claim is no longer
 * ours: the sweeper has settled the message, or an earlier try of ours was committed. When it throws, the result is
 * unknown, and it may run again.
 */
export function createRecord(
  db: Database,
  firstAttempts: FirstAttempts,
): (claim: Claim, ending: EndingRow) => Promise<boolean> {
  const end = createEndSends(db, 'record', statementFor, firstAttempts)
  return (claim, ending) => {
    const row = {
      message_id: claim.messageId,
      claim: claim.claimId,
      ...ending,
      traceparent: claim.traceparent,
    } satisfies RowOf<typeof RECORD_ROW>
    return end({ json: JSON.stringify(row), claim, outcomes: ending.outcomes, sandbox: false })
  }
}
