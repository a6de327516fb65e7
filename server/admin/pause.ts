import { changeAs, type Requester } from '../access/audit/change-as.ts'
import { record } from '../access/audit/record-change.ts'
import type { BreakerLimits } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { firstIdAt } from '../db/ids.ts'
import { run } from '../db/statement.ts'
import { BREAKER_REFUSED } from '../reputation/breaker.ts'
import { CHANGE_BREAKER } from '../reputation/breaker-state.ts'
import { COMPLAINTS, HARD_BOUNCES, SENT } from '../reputation/counts.ts'

// A pause is an open breaker. What a person sees of it, and how one ends it before its time.

export interface PausedDomain {
  accountId: string
  name: string
}

export interface ShownPause {
  refusesAll: boolean
  since: Date
  until: Date
  resumableAt: Date | null
  byComplaints: boolean
  emails: number
  bounces: number
  complaints: number
}

/** How often an owner may end a pause of a domain. */
const RESUME_EVERY = `interval '24 hours'`

// The counts are those of the hours in which the breaker had looked when it opened: the hour of the change as it was
// then, and the 23 before it.
const READ_PAUSE = `
  select state = 'open' and changed_at + $3::float8 * interval '1 minute' > now() as "refusesAll", changed_at as since,
    changed_at + $3::float8 * interval '1 minute' as until,
    case when resumed_at > now() - ${RESUME_EVERY} then resumed_at + ${RESUME_EVERY} end as "resumableAt",
    cause = 'complaints' as "byComplaints", base_emails + emails as emails, base_bounces + bounces as bounces,
    base_complaints + complaints as complaints
  from breakers b cross join lateral (
    select coalesce(sum(${SENT}), 0)::int as emails, coalesce(sum(${HARD_BOUNCES}), 0)::int as bounces,
      coalesce(sum(${COMPLAINTS}), 0)::int as complaints
    from hourly_stats s
    where s.account_id = $1 and s.tenant_id = '' and s.domain = $2
      and s.hour >= date_trunc('hour', b.changed_at, 'UTC') - interval '23 hours'
      and s.hour < date_trunc('hour', b.changed_at, 'UTC')
  ) as before
  where account_id = $1 and domain = $2 and state <> 'closed'`

/** Returns undefined for a domain that sends without a limit of its breaker. */
export async function readPause(
  db: Database,
  { accountId, name }: PausedDomain,
  { openMinutes }: BreakerLimits,
): Promise<ShownPause | undefined> {
  const [row] = await run<WithTexts<ShownPause>>(db, READ_PAUSE, [accountId, name, openMinutes])
  return row && { ...row, since: new Date(row.since), until: new Date(row.until), resumableAt: dateOf(row.resumableAt) }
}

/** A statement has times as texts. */
type WithTexts<Row> = {
  [name in keyof Row]: Row[name] extends Date ? string : Row[name] extends Date | null ? string | null : Row[name]
}

const dateOf = (text: string | null) => (text === null ? null : new Date(text))

const COUNT_REFUSED = `
  select coalesce(sum(count), 0)::int as sends from refused_sends
  where account_id = $1 and id >= $2 and message = $3 and right(sender, length($4) + 1) = '@' || $4`

/** How many sends the breaker of a domain has refused since a time, as far as they are stored. */
export async function countRefused(db: Database, { accountId, name }: PausedDomain, since: Date): Promise<number> {
  const [row] = await run<{ sends: number }>(db, COUNT_REFUSED, [
    accountId,
    firstIdAt(since.getTime()),
    BREAKER_REFUSED,
    name,
  ])
  return row!.sends
}

const LOCK = `
  select changed_at as "changedAt", cause,
    state = 'open' and changed_at + $3::float8 * interval '1 minute' > now() as "isPaused",
    case when resumed_at > now() - ${RESUME_EVERY} then resumed_at + ${RESUME_EVERY} end as "resumableAt"
  from breakers where account_id = $1 and domain = $2 for update`

const NOTE_RESUME = `update breakers set resumed_at = now() where account_id = $1 and domain = $2`

interface LockedBreaker {
  changedAt: string
  cause: string
  isPaused: boolean
  resumableAt: string | null
}

/** What became of a wish to resume: a time is when an owner may, who has done it less than 24 hours ago. */
export type Resumed = 'resumed' | 'not_paused' | Date

/**
 * Ends a pause, so that the breaker is half open. What it counted before does not count any more. The operator may do
 * it at any time.
 */
export async function resumeDomain(
  db: Database,
  { accountId, name }: PausedDomain,
  { openMinutes }: BreakerLimits,
  { requester, reason }: { requester: Requester; reason: string },
): Promise<Resumed> {
  return changeAs(db, requester, async (tx, author) => {
    const [breaker] = await run<LockedBreaker>(tx, LOCK, [accountId, name, openMinutes])
    if (!breaker?.isPaused) return 'not_paused'
    const { changedAt, cause, resumableAt } = breaker
    if (resumableAt && author.actor.kind !== 'operator') return new Date(resumableAt)
    await run(tx, CHANGE_BREAKER, [accountId, name, 'half_open', cause, 'open', changedAt])
    await run(tx, NOTE_RESUME, [accountId, name])
    await record(tx, { ...author, action: 'domain.resume', target: name, after: { reason } })
    return 'resumed'
  })
}
