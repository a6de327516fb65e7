import { nameFault } from '../../net/clean-text.ts'
import { changeAs, type Requester } from '../access/audit/change-as.ts'
import { record } from '../access/audit/record-change.ts'
import type { BreakerLimits } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { inMs, run } from '../db/statement.ts'
import { CHANGE_BREAKER } from '../reputation/breaker-state.ts'
import { COMPLAINTS, HARD_BOUNCES, SENT } from '../reputation/counts.ts'

// A pause is an open breaker. What a person sees of it, and how one ends it before its time.

interface PausedDomain {
  accountId: string
  name: string
}

/** Times are Unix milliseconds. */
export interface ShownPause {
  refusesAll: boolean
  sinceMs: number
  untilMs: number
  resumableAtMs: number | null
  byComplaints: boolean
  emails: number
  bounces: number
  complaints: number
}

/** SQL: whether a breaker refuses all emails, and when it stops. `$3` is the length of a pause in minutes. */
const UNTIL = `changed_at + $3::float8 * interval '1 minute'`
const REFUSES_ALL = `state = 'open' and ${UNTIL} > now()`

/** SQL: when an owner may end a pause of the domain again; null when that is now. */
const RESUMABLE_AT = `case when resumed_at > now() - interval '24 hours' then resumed_at + interval '24 hours' end`

// The counts are those of the hours in which the breaker had looked when it opened: the hour of the change as it was
// then, and the 23 before it.
const READ_PAUSE = `
  select ${REFUSES_ALL} as "refusesAll", ${inMs('changed_at')} as "sinceMs", ${inMs(UNTIL)} as "untilMs",
    ${inMs(RESUMABLE_AT)} as "resumableAtMs", cause = 'complaints' as "byComplaints",
    base_emails + emails as emails, base_bounces + bounces as bounces, base_complaints + complaints as complaints
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
  const [row] = await run<ShownPause>(db, READ_PAUSE, [accountId, name, openMinutes])
  return row
}

const LOCK = `
  select changed_at as "changedAt", cause, ${REFUSES_ALL} as "isPaused", ${inMs(RESUMABLE_AT)} as "resumableAtMs"
  from breakers where account_id = $1 and domain = $2 for update`

const NOTE_RESUME = `update breakers set resumed_at = now() where account_id = $1 and domain = $2`

const REASON_CHARACTERS = 200

/** Why a text is no reason for the audit log; undefined when it is one. */
export const reasonFault = (reason: string): string | undefined =>
  reason === '' ? 'is required: the audit log shows it' : nameFault(reason, REASON_CHARACTERS)

/** The result of a resume: `resumableAtMs` is when an owner may do it, who has done it less than 24 hours ago. */
export type Resumed = 'resumed' | 'not_paused' | { resumableAtMs: number }

interface LockedBreaker extends Pick<ShownPause, 'resumableAtMs'> {
  changedAt: string
  cause: string
  isPaused: boolean
}

/**
 * Ends a pause, so that the breaker is half open. What it counted before does not count any more. The operator may do
 * it at any time. `reason` must have no `reasonFault`.
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
    const { changedAt, cause, resumableAtMs } = breaker
    if (resumableAtMs !== null && author.actor.kind !== 'operator') return { resumableAtMs }
    await run(tx, CHANGE_BREAKER, [accountId, name, 'half_open', cause, 'open', changedAt])
    await run(tx, NOTE_RESUME, [accountId, name])
    await record(tx, { ...author, action: 'domain.resume', target: name, after: { reason } })
    return 'resumed'
  })
}
