import { randomInt } from 'node:crypto'
import { createCollector, jsonArray, LANES } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { type DeliveryEvent, evidenceOf, PAYLOAD_VERSION } from '../db/delivery-event.ts'
import { idAt } from '../db/ids.ts'
import { run } from '../db/statement.ts'
import type { Claim } from './claim.ts'
import type { DispatchedEvent, FirstAttempts } from './first-attempts-offer.ts'
import type { OutcomeRow } from './rows.ts'

/**
 * Shards of the statistics, from 1: 0 has the hours that are over. Processes seldom share a shard, and then only wait
 * for each other.
 */
const FIRST_SHARD = 1 + LANES * randomInt(16)
const shardOf = (lane: number) => FIRST_SHARD + lane

/** Parameters of these statements after their rows, as the tail takes them. */
export const TAIL_PARAMETERS = { shard: '$2::smallint', leaseMs: '$3::int' }

/** A send that ends: its row of the statement, and what its events say. */
export interface EndingSend {
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
        if (row?.dispatches) for (const event of dispatchedEvents(send, row)) offer(event)
        return row !== undefined
      })
    },
    { callers: () => db.load.sends, note: db.noteBatch(name) },
  )
}

/** The dispatches with their events, as `createReadEvent` (webhooks/begin.ts) would read them. */
function dispatchedEvents({ claim, outcomes, sandbox }: EndingSend, row: EndedRow): DispatchedEvent[] {
  const { messageId, accountId, tenantId = null } = claim
  const { tag = null, metadata = null } = claim.request
  const events = claim.recipients.map(({ eventId, email }, i): DeliveryEvent => {
    const { status, reason = null, smtp, in_doubt: inDoubt, retryable } = outcomes[i]!
    return {
      event: 'email.delivery',
      id: idAt(eventId, row.eventsAtMs),
      messageId,
      accountId,
      status,
      reason,
      recipient: email,
      sandbox,
      smtp: evidenceOf(smtp),
      inDoubt,
      retryable,
      tag,
      metadata,
      tenantId,
      payload: PAYLOAD_VERSION,
      createdAtMs: row.eventsAtMs,
    }
  })
  const eventById = new Map(events.map((event) => [event.id, event]))
  return row.dispatches!.map(([dispatchId, eventId, endpointId]) => {
    return { ...eventById.get(eventId)!, dispatchId, endpointId }
  })
}
