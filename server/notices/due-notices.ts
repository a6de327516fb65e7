import type { Database } from '../db/connect.ts'
import { LETTER_KINDS, type NOTICE_KINDS } from '../db/people-schema.ts'
import { inMs, run, uuidArray } from '../db/statement.ts'

/** A notice as it is sent. Ids are UUIDs. */
export interface NoticeRow {
  id: string
  accountId: string | null
  kind: (typeof NOTICE_KINDS)[number]
  isOver: boolean
  subjectId: string | null
  subject: string
  /** Unix milliseconds. */
  sinceMs: number | null
  waiting: number | null
  channel: 'mail' | 'url'
  personId: string | null
  email: string | null
  tries: number
}

/** Notices that are one mail, or one post. */
export type Together = readonly [NoticeRow, ...NoticeRow[]]

/** The most mails and posts that a process sends at a time. */
const AT_ONCE = 10

/**
 * SQL: what troubles that go into one mail have in common. Those whose lease is over were in one mail already, whose
 * outcome is not stored: with others in it, it would be another mail.
 */
const TOGETHER = `
  case when kind in (${LETTER_KINDS.map((kind) => `'${kind}'`)}) then id::text
    else concat_ws(' ', account_id, channel, person_id, lease_until) end`

const IS_FREE = `state = 'waiting' and (lease_until is null or lease_until < clock_timestamp())`

// One process looks at a time, so that the notices of a person are not shared out among several. Accounts take turns,
// and so do resets, which have none. Those for addresses without a person, for whom nothing is mailed, are the last.
const LEASE = `
  with lock as materialized (select pg_try_advisory_xact_lock(hashtext('verdict due notices')) as is_mine),
  due as materialized (
    select id, due_at, ${TOGETHER} as together, coalesce(account_id::text, kind) as owner, email from notices
    where (select is_mine from lock) and ${IS_FREE} and due_at <= clock_timestamp()
  ),
  waiting as (
    select together, owner, min(email) as email, min(due_at) as due_at,
      row_number() over (partition by owner, min(email) order by min(due_at)) as nth
    from due group by together, owner
  ),
  in_turn as (
    select together, due_at, row_number() over (partition by owner order by
      email is null or exists (select from people p where p.email = w.email) desc, nth, due_at) as turn
    from waiting w
  ),
  first as (select together from in_turn order by turn, due_at limit ${AT_ONCE})
  update notices n set lease_until = now() + $1 * interval '1 millisecond'
  from due d join first using (together)
  where n.id = d.id and ${IS_FREE}
  returning n.id, account_id as "accountId", kind, is_over as "isOver", subject_id as "subjectId", subject,
    ${inMs('since')} as "sinceMs", waiting, channel, person_id as "personId", n.email,
    tries::int, together`

/** Takes the notices that are due. Another process takes them only when the lease is over. */
export async function leaseDue(db: Database, leaseMs: number): Promise<Together[]> {
  const rows = await run<NoticeRow & { together: string }>(db, LEASE, [leaseMs])
  return [...Map.groupBy(rows, ({ together }) => together).values()].map(
    (group) => group.map(({ together: _, ...notice }) => notice).toSorted(byOrder) as [NoticeRow, ...NoticeRow[]],
  )
}

/** What begins before what is over, and the oldest first. */
const byOrder = (a: NoticeRow, b: NoticeRow) =>
  Number(a.isOver) - Number(b.isOver) || (a.sinceMs ?? 0) - (b.sinceMs ?? 0) || (a.id < b.id ? -1 : 1)

/** How a try ended. */
export interface TryEnd {
  state: 'sent' | 'failed' | 'cancelled' | 'again'
  outcome?: string
  /** The message of a mail (UUID). */
  messageId?: string
  /** When the outcome is not certain: the same send is then repeated after this time. */
  repeatAfterMs?: number
}

/** Delays before the next try of a notice, after each one whose outcome was certain. */
const DELAYS_MS = [60_000, 300_000, 900_000, 3_600_000]

/** A notice that could not be sent in this time is given up. The link of a reset works for an hour. */
const GIVE_UP = `case kind when 'password_reset' then interval '1 hour' else interval '1 day' end`

/** The notices of a repeat keep a common `lease_until`, so they stay in one mail. */
const END = `
  update notices n set
    state = case when $2 <> 'again' then $2 when goes_on then 'waiting' else 'failed' end,
    ended_at = case when not goes_on then now() end, email = case when goes_on then email end,
    outcome = $3, message_id = coalesce($5, message_id), tries = tries + case when $2 = 'again' and $4::int is null then 1 else 0 end,
    due_at = case when goes_on then next_at else n.due_at end,
    lease_until = case when goes_on and $4::int is not null then next_at end
  from (
    select id, next_at, coalesce($2 = 'again' and created_at + ${GIVE_UP} > next_at, false) as goes_on
    from (
      select *, now() + coalesce($4::int, ('{${DELAYS_MS}}'::int[])[tries + 1]) * interval '1 millisecond' as next_at
      from notices where id = any($1::uuid[])
    ) as tried
  ) as next
  where n.id = next.id and n.state = 'waiting'
  returning kind, channel, case state when 'waiting' then 'again' else state end as result`

export interface TryResult extends Pick<NoticeRow, 'kind' | 'channel'> {
  result: TryEnd['state']
}

/** Stores how a try ended for each of its notices. */
export function endTry(db: Database, notices: readonly NoticeRow[], end: TryEnd): Promise<TryResult[]> {
  const { state, outcome = null, repeatAfterMs = null, messageId = null } = end
  return run<TryResult>(db, END, [uuidArray(notices.map(({ id }) => id)), state, outcome, repeatAfterMs, messageId])
}
