import type { Database } from '../db/connect.ts'
import type { NOTICE_KINDS } from '../db/people-schema.ts'
import { run } from '../db/statement.ts'

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

/** The most notices that a process sends at a time. */
const AT_ONCE = 10

const LEASE = `
  update notices set lease_until = clock_timestamp() + $1 * interval '1 millisecond'
  where id = any(array(
    select id from notices
    where state = 'waiting' and due_at <= clock_timestamp() and (lease_until is null or lease_until < clock_timestamp())
    order by due_at limit ${AT_ONCE} for update skip locked))
  returning id, account_id as "accountId", kind, is_over as "isOver", subject_id as "subjectId", subject,
    (extract(epoch from since) * 1000)::float8 as "sinceMs", waiting, channel, person_id as "personId", email,
    tries::int`

/** Takes the notices that are due. Another process takes them only when the lease is over. */
export function leaseDue(db: Database, leaseMs: number): Promise<NoticeRow[]> {
  return run<NoticeRow>(db, LEASE, [leaseMs])
}

/** How the try of a notice ended. `again` names the delay of the next try. */
export interface TryEnd {
  state: 'sent' | 'failed' | 'cancelled' | 'again'
  outcome?: string
  delayMs?: number
  /** Whether the outcome is certain: the next try is then another send. */
  isCounted?: boolean
  personId?: string
}

/** A notice that could not be sent in this time is given up. The link of a reset works for an hour. */
const GIVE_UP = `case kind when 'password_reset' then interval '1 hour' else interval '1 day' end`

const END = `
  update notices n set
    state = case when $2 <> 'again' then $2 when goes_on then 'waiting' else 'failed' end,
    ended_at = case when not goes_on then now() end, email = case when goes_on then email end,
    outcome = $3, tries = tries + $5::int, due_at = now() + $4::int * interval '1 millisecond', lease_until = null,
    person_id = coalesce($6::uuid, person_id)
  from (
    select id, $2 = 'again' and created_at + ${GIVE_UP} > now() + $4::int * interval '1 millisecond' as goes_on
    from notices where id = $1
  ) as next
  where n.id = next.id and n.state = 'waiting'`

/** Stores how a try of a notice ended. */
export async function endTry(db: Database, id: string, end: TryEnd): Promise<void> {
  const { state, outcome = null, delayMs = 0, isCounted = false, personId = null } = end
  await run(db, END, [id, state, outcome, delayMs, isCounted ? 1 : 0, personId])
}
