import { collector, jsonArray } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { inTime } from '../in-time.ts'

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
  /** The sending domain. */
  domain: string
  /** What Get email shows of the request. */
  request: object
  /** The random part of `eventId` stays; its time becomes that of the outcome. */
  recipients: { eventId: string; email: string }[]
  key?: KeyToTake
  warmUp?: WarmUpShare
}

/** The idempotency key that a send takes with its claim. */
export interface KeyToTake {
  scope: string
  key: string
  /** SHA-256 of the request, in hex. */
  requestHash: string
}

/** What a send takes of the day's volume of a domain that warms up. */
export interface WarmUpShare {
  /** The UTC day, `2026-01-31`. Its row is there: see warm-up.ts. */
  day: string
  dailyLimit: number
  emails: number
}

/** Nothing is claimed unless it says `claimed`: the key is another send's, or the day's volume is used up. */
export type Claimed = 'claimed' | 'key_taken' | 'over_warm_up'

/** Takes the keys of the rows of `from`; an expired one is taken over where it stands. Gives the ids of the messages that have theirs. */
export const takesKeys = (from: string) => `
  taken as (
    insert into idempotency_keys as kept (account_id, scope, key, message_id, request_hash, expires_at)
    select distinct on (account_id, key_scope, key)
      account_id, key_scope, key, id, decode(request_hash, 'hex'), now() + interval '24 hours'
    from ${from} where key is not null order by account_id, key_scope, key, id
    on conflict (account_id, scope, key) do update
    set message_id = excluded.message_id, request_hash = excluded.request_hash, expires_at = excluded.expires_at
    where kept.expires_at <= now()
    returning message_id
  )`

// Locks are taken in this order everywhere: warm-up, keys, each sorted; what gives them back (release.ts) has taken its messages before,
// which are new here. The rows of the warm-up are locked before they are read, so that no two statements let the same email through.
// The smallest messages are admitted first: where one does not fit, none does that is asked for after it.
const CLAIM = `
  with input as materialized (
    select * from json_to_recordset($1::json) as r(
      id uuid, account_id uuid, claim uuid, lease_ms int, created_at timestamptz, tenant_id text, region text, domain text,
      request json, recipients json, key_scope text, key text, request_hash text, day date, daily_limit int, emails int)
  ),
  warm_up as materialized (
    select w.account_id, w.domain, w.day, w.emails as used from warm_ups w
    where (w.account_id, w.domain, w.day) in (select account_id, domain, day from input where day is not null)
    order by w.account_id, w.domain, w.day for update
  ),
  admitted as materialized (
    select * from (
      select i.*, sum(i.emails) over (partition by i.account_id, i.domain, i.day order by i.emails, i.id) as asked
      from input i
    ) i
    where i.day is null or i.asked <= i.daily_limit - (
      select used from warm_up w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day)
  ),
  ${takesKeys('admitted')},
  winner as materialized (
    select * from admitted where key is null or id in (select message_id from taken)
  ),
  warmed as (
    update warm_ups w set emails = w.emails + n.emails
    from (select account_id, domain, day, sum(emails) as emails from winner where day is not null group by 1, 2, 3) n
    where w.account_id = n.account_id and w.domain = n.domain and w.day = n.day
  ),
  message as (
    insert into open_messages (id, account_id, claim, lease_until, created_at, tenant_id, region, domain, request, key_scope, key,
      warm_up_day, warm_up_emails)
    select id, account_id, claim, now() + lease_ms * interval '1 millisecond', created_at, tenant_id, region, domain, request,
      key_scope, key, day, emails
    from winner
  ),
  recipient as (
    insert into open_recipients (message_id, position, event_id, email, claim, lease_until)
    select w.id, r.position, r.event_id, r.email, w.claim, now() + w.lease_ms * interval '1 millisecond'
    from winner w, json_to_recordset(w.recipients) as r(position smallint, event_id uuid, email text)
  )
  select i.id, case
      when w.id is not null then 'claimed'
      when a.id is not null then 'key_taken'
      when i.emails <= i.daily_limit - (
        select used from warm_up w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day
      ) - coalesce((
        select sum(w.emails) from winner w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day
      ), 0) then 'place_left'
      else 'over_warm_up'
    end as claimed
  from input i left join admitted a on a.id = i.id left join winner w on w.id = i.id`

/** What the statement says of a row. `place_left`: a message that was admitted before this one lost its key, so a place is left. */
type Answer = Claimed | 'place_left'

/** More would be taken from the time of the recipient's server, and blamed on it. */
const CLAIM_MS = 5_000

/** Claim: message, recipients, key, warm-up and lease in one commit. A throw means that nobody knows; the sweeper removes what may be there. */
export function claimStep(db: Database): (claim: Claim) => Promise<Claimed> {
  const commit = collector<{ json: string; id: string }, Answer>(async (rows) => {
    const answers = await db.$client.unsafe(CLAIM, [jsonArray(rows)], { prepare: true })
    const claimed = new Map(answers.map((row) => [row.id as string, row.claimed as Answer]))
    return rows.map(({ id }) => claimed.get(id)!)
  })
  return async (claim) => {
    const row = { json: claimRow(claim), id: claim.messageId }
    for (;;) {
      const answer = await inTime(commit(row), CLAIM_MS)
      if (answer !== 'place_left') return answer
    }
  }
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
    domain: claim.domain,
    request: claim.request,
    recipients: claim.recipients.map(({ eventId, email }, position) => ({ position, event_id: eventId, email })),
    key_scope: claim.key?.scope,
    key: claim.key?.key,
    request_hash: claim.key?.requestHash,
    day: claim.warmUp?.day,
    daily_limit: claim.warmUp?.dailyLimit,
    emails: claim.warmUp?.emails,
    ...more,
  })
}
