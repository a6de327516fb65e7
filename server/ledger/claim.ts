import { createCollector, isLocked, jsonArray } from '../db/collector.ts'
import { type Columns, type RowOf, recordset } from '../db/columns.ts'
import type { Database } from '../db/connect.ts'
import type { StoredRequest } from '../db/json-columns.ts'
import { stepInTime } from '../db/outage.ts'
import { createHistoryCheck } from '../db/partitions.ts'
import { run } from '../db/statement.ts'
import { takeKeysOf } from './idempotency-keys.ts'
import { isKeyTaken, RECIPIENT_KEYS, recipientKeyRows, takeRecipientKeysOf } from './recipient-keys.ts'
import { isTaken, RETRIES, type Retry, retryRows, takeRetriesOf } from './retries.ts'
import { CLAIMED_RECIPIENT, inputOf, SEND, type SendRow } from './rows.ts'

// The commits of a send, in their order. Each is one statement over the rows of many sends (db/collector.ts).
//
//   claim    message, recipients, key, warm-up and lease: after it the send exists, in open tables (this file)
//   marker   just before a final dot: these recipients may have the message (marker.ts)
//   record   outcomes, events, dispatches, statistics, suppressions: the send moves to history (record.ts)
//
//   settle   claim and record in one, for a send that never reaches SMTP (settle.ts)
//   release  deletes a claim after a fault of our own before the first marker (release.ts)
//   sweep    ends what a dead process left: without a marker as if it had never come, with one in doubt (sweep.ts)
//
// record, settle and sweep share their end (tail.ts). rows.ts has the shapes of their rows, idempotency-keys.ts says
// who gets a key, and retries.ts who may retry a recipient.

/** The field of the request that a recipient was given in. */
export type RecipientKindName = 'to' | 'cc' | 'bcc'

/** A send as it is claimed. Ids are UUIDs. The lease is counted from the commit, by the database's clock. */
export interface Claim {
  messageId: string
  accountId: string
  /** Names this process's hold on the message: marker, record and release are conditional on it. */
  claimId: string
  leaseMs: number
  createdAtMs: number
  tenantId?: string
  region: string
  /** The sending domain. */
  domain: string
  /** What Get email shows of the request. */
  request: Partial<StoredRequest>
  /** The random part of `eventId` stays; its time becomes that of the outcome. */
  recipients: { eventId: string; email: string; kind: RecipientKindName }[]
  key?: KeyToTake
  /** What it retries, when its request has `retry_of`. A dry run takes nothing. */
  retry?: Retry
  /** The keys of its recipients, in their order, when it came over SMTP. */
  recipientKeys?: readonly string[][]
  warmUp?: WarmUpShare
  quota?: QuotaShare
  /** The trace that the dispatches of its events continue. */
  traceparent?: string
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
  /** The UTC day, `2026-01-31`. Its row exists already: see warm-up.ts. */
  day: string
  dailyLimit: number
  copies: number
}

/** A send's share of the quota of its account. */
export interface QuotaShare {
  /** The first day of the UTC month, `2026-01-01`. Its row exists already: see quota.ts. */
  month: string
  monthlyLimit: number
  copies: number
}

export function sendRow(claim: Claim): SendRow {
  return {
    id: claim.messageId,
    account_id: claim.accountId,
    created_at: new Date(claim.createdAtMs).toISOString(),
    tenant_id: claim.tenantId,
    region: claim.region,
    domain: claim.domain,
    request: claim.request,
    recipients: claim.recipients.map(({ eventId, email, kind }, position) => ({
      position,
      event_id: eventId,
      email,
      kind,
    })),
    key_scope: claim.key?.scope,
    key: claim.key?.key,
    request_hash: claim.key?.requestHash,
  }
}

/**
 * Only `claimed` claims: otherwise the key belongs to another send, another send has retried a recipient, or the day's
 * volume or the month's quota is used up.
 */
export type ClaimResult = 'claimed' | 'key_taken' | 'retried' | 'over_warm_up' | 'over_quota'

const CLAIM_ROW = {
  ...SEND,
  claim: 'uuid',
  lease_ms: 'int',
  day: 'date null',
  daily_limit: 'int null',
  emails: 'int null',
} as const

const QUOTA_ROW = { month: 'date null', monthly_limit: 'int null' } as const

/** The fragments of SQL by which a claim with a quota differs from one without. */
interface QuotaParts {
  /** More columns of `open_messages`, and their values. */
  columns: string
  values: string
  /** The CTE that locks the quotas. */
  lock: string
  /** A column of the input: the emails of the month, from the smallest message to this one. */
  soFar: string
  /** The condition of admission, which includes that of the warm-up. */
  admits(warmUp: string): string
  /** The CTE that counts the emails. */
  add: string
  /** Results of messages that were not admitted, before those of the warm-up. */
  results: string
}

const NO_QUOTA: QuotaParts = {
  columns: '',
  values: '',
  lock: '',
  soFar: '',
  admits: (warmUp) => warmUp,
  add: '',
  results: '',
}

const USED_OF_QUOTA = '(select used from quota q where q.account_id = i.account_id and q.month = i.month)'

const QUOTA: QuotaParts = {
  columns: ', quota_month, quota_emails',
  values: ', month, emails',
  // The count waits for the locks of the warm-up.
  lock: `
  quota as materialized (
    select m.account_id, m.month, m.emails as used from monthly_emails m
    where (select count(*) from warm_up) >= 0
      and (m.account_id, m.month) in (select account_id, month from input where month is not null)
    order by m.account_id, m.month for update
  ),`,
  soFar: `,
        sum(i.emails) over (partition by i.account_id, i.month order by i.emails, i.id) as month_so_far`,
  admits: (warmUp) => `(${warmUp})
      and (i.month is null or i.month_so_far <= i.monthly_limit - ${USED_OF_QUOTA})`,
  add: `
  added_to_quota as (
    update monthly_emails m set emails = m.emails + n.emails
    from (
      select account_id, month, sum(emails) as emails from winner where month is not null group by 1, 2
    ) n
    where m.account_id = n.account_id and m.month = n.month
  ),`,
  results: `
      when i.month is not null and ${USED_OF_QUOTA} is null then 'quota_missing'
      when i.emails > i.monthly_limit - ${USED_OF_QUOTA} - coalesce((
        select sum(w.emails) from winner w where w.account_id = i.account_id and w.month = i.month), 0) then 'over_quota'
      when i.day is null then 'room_left'`,
}

/** SQL: the CTEs that open the sends in the CTE `sends`. */
const openSendsOf = (sends: string, quota = NO_QUOTA) => `
  message as (
    insert into open_messages (id, account_id, claim, lease_until, created_at, tenant_id, region, domain, request,
      key_scope, key, warm_up_day, warm_up_emails${quota.columns})
    select id, account_id, claim, now() + lease_ms * interval '1 millisecond', created_at, tenant_id, region,
      domain, request, key_scope, key, day, emails${quota.values}
    from ${sends}
  ),
  recipient as (
    insert into open_recipients (message_id, account_id, position, event_id, email, kind, claim, lease_until)
    select w.id, w.account_id, r.position, r.event_id, r.email, r.kind, w.claim, now() + w.lease_ms * interval '1 millisecond'
    from ${sends} w, json_to_recordset(w.recipients) as r(${recordset(CLAIMED_RECIPIENT)})
  )`

const FITS_WARM_UP = `i.day is null or i.emails_so_far <= i.daily_limit - (
      select used from warm_up w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day)`

// Locks are taken in this order everywhere: warm-up, quota, keys, each sorted. A release locks its messages before
// them, which are new here. The rows of the warm-up and of the quota are locked before they are read, so no two
// statements admit the same email. The smallest messages are admitted first: once one does not fit, no message after it
// does.
const claimOf = (row: Columns, { more = '', quota = NO_QUOTA } = {}) => `
  with ${inputOf(row)},
  warm_up as materialized (
    select w.account_id, w.domain, w.day, w.emails as used from warm_ups w
    where (w.account_id, w.domain, w.day) in (select account_id, domain, day from input where day is not null)
    order by w.account_id, w.domain, w.day for update
  ),${quota.lock}
  admitted as materialized (
    select * from (
      select i.*, sum(i.emails) over (partition by i.account_id, i.domain, i.day order by i.emails, i.id) as emails_so_far${quota.soFar}
      from input i
    ) i
    where ${quota.admits(FITS_WARM_UP)}
  ),
  ${takeKeysOf('admitted')},
  winner as materialized (
    select * from admitted where key is null or id in (select message_id from taken_key)
  ),
  added_emails as (
    update warm_ups w set emails = w.emails + n.emails
    from (
      select account_id, domain, day, sum(emails) as emails from winner where day is not null group by 1, 2, 3
    ) n
    where w.account_id = n.account_id and w.domain = n.domain and w.day = n.day
  ),${quota.add}
  ${openSendsOf('winner', quota)}${more}
  select i.id, case
      when w.id is not null then 'claimed'
      when a.id is not null then 'key_taken'${quota.results}
      when i.emails <= i.daily_limit - (
        select used from warm_up w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day
      ) - coalesce((
        select sum(w.emails) from winner w where w.account_id = i.account_id and w.domain = i.domain and w.day = i.day
      ), 0) then 'room_left'
      else 'over_warm_up'
    end as result
  from input i left join admitted a on a.id = i.id left join winner w on w.id = i.id`

export const CLAIM = claimOf(CLAIM_ROW)

/** The same for sends of accounts with a quota. No other send pays for it. */
export const CLAIM_QUOTA = claimOf({ ...CLAIM_ROW, ...QUOTA_ROW }, { quota: QUOTA })

/** The same for sends that retry others, or whose recipients have keys, with a quota or without. */
export const CLAIM_RETRIES = claimOf(
  { ...CLAIM_ROW, ...QUOTA_ROW, ...RETRIES, ...RECIPIENT_KEYS },
  { quota: QUOTA, more: `,${takeRetriesOf('winner')},${takeRecipientKeysOf('winner')}` },
)

/** The same for sends without a key or a quota, of domains that do not warm up: nothing can refuse them. */
export const CLAIM_FREE = `
  with ${inputOf(CLAIM_ROW)},
  ${openSendsOf('input')}
  select id, 'claimed' as result from input`

/**
 * The statement's result for a row. `room_left`: a message admitted before this one lost its key, so there is room for
 * this one. `quota_missing`: there is no row of the month, which every send creates before its claim.
 */
type RowResult = ClaimResult | 'room_left' | 'quota_missing'

interface ClaimingSend {
  json: string
  id: string
  accountId: string
  isFree: boolean
  hasQuota: boolean
}

/** A marker is tried once a second while sends cannot be recorded: soon after a move one of them is stored. */
const PROVED_WITHIN_MS = 3_000

/**
 * Claim, the first commit of a send: message, recipients, key, warm-up and lease. When it throws, the result is
 * unknown; the sweeper removes what may have been stored. Throws when history lacks a day of the lease: what the send
 * ends with could not be stored.
 */
export function createClaim(db: Database): (claim: Claim) => Promise<ClaimResult> {
  const commit = createCommit(db, (rows) => {
    if (rows.every(({ isFree }) => isFree)) return CLAIM_FREE
    return rows.some(({ hasQuota }) => hasQuota) ? CLAIM_QUOTA : CLAIM
  })
  // Apart, because a retry that is taken fails the statement of all its rows.
  const commitRetry = createCommit(db, () => CLAIM_RETRIES)
  const checkHistory = createHistoryCheck(db)
  return async (claim) => {
    // The message would be sent, and its outcome could not be stored.
    if (db.health.isFull()) throw new Error('the disk of the database is full')
    // While the database moves, and until a marker has proved the new server, the claim waits as every statement does.
    const hasJustMoved = performance.now() - db.outage.lastMs() < PROVED_WITHIN_MS
    if (db.recording.waitingMs() > 0 && !hasJustMoved) throw new Error('outcomes of sends cannot be stored')
    await stepInTime(db, checkHistory(claim.createdAtMs + claim.leaseMs))
    const hasQuota = claim.quota !== undefined
    const isFree = claim.key === undefined && claim.warmUp === undefined && !hasQuota
    const row = {
      json: JSON.stringify(claimRow(claim)),
      id: claim.messageId,
      accountId: claim.accountId,
      isFree,
      hasQuota,
    }
    const committed = async () => {
      for (;;) {
        const result = await (claim.retry || claim.recipientKeys ? commitRetry(row) : commit(row)).catch(retriedOrThrow)
        if (result !== 'room_left' && result !== 'locked') return result
        if (isOver) throw new Error('the lock that a claim waits for is not free')
      }
    }
    let isOver = false
    const result = await stepInTime(db, committed()).finally(() => {
      isOver = true
    })
    if (result === 'quota_missing') throw new Error('the account has no row of the month in monthly_emails')
    return result
  }
}

function createCommit(db: Database, statementFor: (rows: ClaimingSend[]) => string) {
  return createCollector<ClaimingSend, RowResult>(
    async (rows) => {
      const results = await run<{ id: string; result: RowResult }>(db, statementFor(rows), [jsonArray(rows)])
      const resultById = new Map(results.map(({ id, result }) => [id, result]))
      return rows.map(({ id }) => resultById.get(id)!)
    },
    { load: db.load, note: db.noteBatch('claim'), groupOf: ({ accountId }) => accountId },
  )
}

function retriedOrThrow(error: unknown): 'retried' | 'key_taken' | 'locked' {
  if (isLocked(error)) return 'locked'
  if (isKeyTaken(error)) return 'key_taken'
  if (isTaken(error)) return 'retried'
  throw error
}

export function claimRow(
  claim: Claim,
): RowOf<typeof CLAIM_ROW & typeof QUOTA_ROW & typeof RETRIES & typeof RECIPIENT_KEYS> {
  return {
    ...sendRow(claim),
    retries: retryRows(claim),
    recipient_keys: recipientKeyRows(claim.recipientKeys),
    claim: claim.claimId,
    lease_ms: claim.leaseMs,
    day: claim.warmUp?.day,
    daily_limit: claim.warmUp?.dailyLimit,
    month: claim.quota?.month,
    monthly_limit: claim.quota?.monthlyLimit,
    emails: (claim.warmUp ?? claim.quota)?.copies,
  }
}
