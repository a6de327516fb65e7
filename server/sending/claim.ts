import { collector, jsonArray } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { inTime } from '../db/in-time.ts'

/** A send as it is claimed. Ids are UUIDs; the lease is counted from the commit, by the database's clock. */
export interface Claim {
  messageId: string
  accountId: string
  /** Names this process's hold on the message: marker, record and release are conditional on it. */
  claim: string
  leaseMs: number
  createdAtMs: number
  tenantId?: string
  region: string
  /** What Get email shows of the request. */
  request: object
  recipients: { eventId: string; email: string }[]
}

const CLAIM = `
  with input as materialized (
    select * from json_to_recordset($1::json) as r(
      id uuid, account_id uuid, claim uuid, lease_ms int, created_at timestamptz, tenant_id text, region text,
      request json, recipients json)
  ),
  message as (
    insert into open_messages (id, account_id, claim, lease_until, created_at, tenant_id, region, request)
    select id, account_id, claim, now() + lease_ms * interval '1 millisecond', created_at, tenant_id, region, request from input
  )
  insert into open_recipients (message_id, position, event_id, email, claim, lease_until)
  select i.id, r.position, r.event_id, r.email, i.claim, now() + i.lease_ms * interval '1 millisecond'
  from input i, json_to_recordset(i.recipients) as r(position smallint, event_id uuid, email text)`

/** More would be taken from the time of the recipient's server, and blamed on it. */
const CLAIM_MS = 5_000

/** Claim: message, recipients and lease in one commit. A throw means that nobody knows; the sweeper removes what may be there. */
export function claimStep(db: Database): (claim: Claim) => Promise<void> {
  const commit = collector<{ json: string }, void>(async (rows) => {
    await db.$client.unsafe(CLAIM, [jsonArray(rows)], { prepare: true })
    return rows.map(() => undefined)
  })
  return (claim) => inTime(commit({ json: claimRow(claim) }), CLAIM_MS)
}

/** The row of a claim: also what a send carries into history that never reaches SMTP. */
export function claimRow(claim: Claim, more: object = {}): string {
  return JSON.stringify({
    id: claim.messageId,
    account_id: claim.accountId,
    claim: claim.claim,
    lease_ms: claim.leaseMs,
    created_at: new Date(claim.createdAtMs).toISOString(),
    tenant_id: claim.tenantId ?? null,
    region: claim.region,
    request: claim.request,
    recipients: claim.recipients.map(({ eventId, email }, position) => ({ position, event_id: eventId, email })),
    ...more,
  })
}
