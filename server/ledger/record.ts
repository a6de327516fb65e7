import { randomInt } from 'node:crypto'
import { ALL_LANES, createCollector, jsonArray } from '../db/collector.ts'
import { type RowOf, recordset } from '../db/columns.ts'
import type { Database } from '../db/connect.ts'
import { type DeliveryEvent, evidenceOf, PAYLOAD_VERSION } from '../db/delivery-event.ts'
import { idAt } from '../db/ids.ts'
import { run } from '../db/statement.ts'
import type { Claim } from './claim.ts'
import { eventIdOf } from './event-ids.ts'
import type { DispatchedEvent, FirstAttempts } from './first-attempts-offer.ts'
import { ENDING, type EndingRow, inputOf, OUTCOME, type OutcomeRow } from './rows.ts'
import { OF_REQUEST, type TailParts, tail } from './tail.ts'

/**
 * Shards of the statistics, from 1: 0 has the hours that are over. Processes seldom share a shard, and then only wait
 * for each other.
 */
const FIRST_SHARD = 1 + ALL_LANES * randomInt(16)
const shardOf = (lane: number) => FIRST_SHARD + lane

/** Parameters of these statements after their rows, as the tail takes them. */
export const TAIL_PARAMETERS = { shard: '$2::smallint', leaseMs: '$3::int' }

const RECORD_ROW = { message_id: 'uuid', claim: 'uuid', ...ENDING, traceparent: 'text null' } as const

// The message row goes first and carries everything else: locks are taken in the order message, recipient everywhere.
const recordWith = (parts: TailParts) => `
  with ${inputOf(RECORD_ROW)},
  message as (
    delete from open_messages m using input i where m.id = i.message_id and m.claim = i.claim
    returning m.id, m.account_id, m.created_at, m.tenant_id, m.region, m.request, m.domain, ${OF_REQUEST},
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
  return (claim, ending) =>
    end({ json: JSON.stringify(recordRow(claim, ending)), claim, outcomes: ending.outcomes, sandbox: false })
}

export const recordRow = (claim: Claim, ending: EndingRow): RowOf<typeof RECORD_ROW> => ({
  message_id: claim.messageId,
  claim: claim.claimId,
  ...ending,
  traceparent: claim.traceparent,
})

/** A send that ends: its row of the statement, and what its events say. */
interface EndingSend {
  json: string
  claim: Claim
  outcomes: OutcomeRow[]
  sandbox: boolean
}

interface EndedRow {
  id: string
  eventsAtMs: number
  /** The ids of each dispatch, of its event and of its endpoint; null when there is no dispatch. */
  dispatches: [id: string, eventId: string, endpointId: string][] | null
}

/**
 * Runs a statement of a record or a settlement for all sends that end at the same moment. Returns true when the send's
 * rows were stored; its events have been offered for their first attempts then.
 */
export function createEndSends(
  db: Database,
  name: 'record' | 'settle',
  statementFor: (sends: readonly EndingSend[]) => string,
  { leaseMs, offer }: FirstAttempts,
): (send: EndingSend) => Promise<boolean> {
  return createCollector<EndingSend, boolean>(
    async (sends, lane) => {
      const rows = await run<EndedRow>(db, statementFor(sends), [jsonArray(sends), shardOf(lane), leaseMs])
      const rowById = new Map(rows.map((row) => [row.id, row]))
      return sends.map((send) => {
        const row = rowById.get(send.claim.messageId)
        for (const event of row ? dispatchedEvents(send, row) : []) offer(event)
        return row !== undefined
      })
    },
    { load: db.load, note: db.noteBatch(name), groupOf: ({ claim }) => claim.accountId },
  )
}

/** The dispatches with their events, as `createReadEvent` (webhooks/attempt/begin.ts) would read them. */
function dispatchedEvents({ claim, outcomes, sandbox }: EndingSend, row: EndedRow): DispatchedEvent[] {
  const { dispatches, eventsAtMs } = row
  if (!dispatches) return []
  const { messageId, accountId, tenantId = null } = claim
  const { tag = null, metadata = null } = claim.request
  const events = claim.recipients.map(({ eventId, email }, i): DeliveryEvent => {
    const { status, reason = null, smtp, in_doubt: inDoubt, retryable, detail = null } = outcomes[i]!
    return {
      event: 'email.delivery',
      id: idAt(eventId, eventsAtMs),
      messageId,
      accountId,
      status,
      reason,
      recipient: email,
      sandbox,
      smtp: evidenceOf(smtp),
      inDoubt,
      retryable,
      detail,
      tag,
      metadata,
      tenantId,
      payload: PAYLOAD_VERSION,
      createdAtMs: eventsAtMs,
    }
  })
  const eventById = new Map(events.map((event) => [event.id, event]))
  return dispatches.flatMap(([dispatchId, eventId, endpointId]) => {
    const event = eventById.get(eventId)
    // The rows are stored: what is not offered here is left to the hand-over, and stops no other send.
    return event ? { ...event, dispatchId, endpointId } : []
  })
}
