import type { Database } from '../db/connect.ts'
import { TROUBLE_KINDS } from '../db/people-schema.ts'
import { run } from '../db/statement.ts'
import { SUBJECT_PREFIXES, troublesOf } from './troubles.ts'

/** The least time between two notices to a receiver that the same trouble begins. Its end follows at once. */
const QUIET_MINUTES = 60

/** Only one process looks at a time, so nothing is sent twice. Others look again later. */
const LOCK = `select pg_try_advisory_xact_lock(hashtext('verdict notices')) as "isMine"`

/** Every receiver of an account: its people with their choices, and its URL. `$1`: whether mail can be sent. */
const RECEIVERS = `
  receiver as materialized (
    select m.account_id, 'mail' as channel, m.person_id, c.kinds, m.role = 'owner' as by_default
    from members m
    left join notification_choices c on c.account_id = m.account_id and c.person_id = m.person_id
    where $1::boolean
    union all
    select account_id, 'url', null, null, true from notification_urls
  )`

/** SQL: whether the receiver `r` wants to know of this kind. */
const wants = (kind: string) => `(case when r.kinds is null then r.by_default else ${kind} = any(r.kinds) end)`

/** SQL: whether the notice `n` is about an endpoint, a domain, a refusing provider or a bad hour. */
const isAbout = (prefix: 'whk' | 'dom' | 'rfp' | 'bad') =>
  `n.kind in (${TROUBLE_KINDS.filter((kind) => SUBJECT_PREFIXES[kind] === prefix).map((kind) => `'${kind}'`)})`

/** SQL: a new UUIDv7, so that notices are listed in the order in which they were found. */
const NEW_ID = `(lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::int8), 12, '0') || '7'
  || substring(replace(gen_random_uuid()::text, '-', '') from 14))::uuid`

const COLUMNS = `id, account_id, kind, is_over, is_open, subject_id, subject, since, waiting, channel, person_id, due_at`

// Each receiver that does not know of a trouble gets a notice: an open notice is what a receiver knows. The end of a
// trouble closes its notices, and goes to the receivers that got them. For an endpoint only an acknowledgement proves
// the end: its events may have expired, or it may be disabled. A notice that was not sent yet is cancelled instead.
export const FIND = `
  with ${troublesOf(() => 'true')},
  ${RECEIVERS},
  over as materialized (
    select n.id, coalesce(w.id, d.id, p.id, b.id) is not null as is_told,
      n.state = 'sent' as was_sent
    from notices n
    left join webhook_endpoints w on ${isAbout('whk')} and w.id = n.subject_id
    left join domains d on ${isAbout('dom')} and d.id = n.subject_id
    left join refusing_providers p on ${isAbout('rfp')} and p.id = n.subject_id
    left join bad_hours b on ${isAbout('bad')} and b.id = n.subject_id
    where n.is_open
      and not exists (select from troubles t where t.kind = n.kind and t.subject_id = n.subject_id)
      and (n.lease_until is null or n.lease_until < clock_timestamp() or n.due_at > clock_timestamp())
      and (n.kind <> 'endpoint_failing' or w.id is null or exists (
        select from webhook_hours h
        where h.account_id = n.account_id and h.endpoint_id = n.subject_id and h.last_acknowledged_at > n.since))
      and (n.kind <> 'domain_lapsed' or d.id is null or d.status = 'verified')
  ),
  closed as (
    update notices n set is_open = false,
      state = case when n.state = 'waiting' then 'cancelled' else n.state end,
      ended_at = coalesce(n.ended_at, clock_timestamp())
    from over o where n.id = o.id
    returning n.*, o.is_told and o.was_sent as is_told
  ),
  ending as (
    select c.account_id, c.kind, true as is_over, c.subject_id, c.subject, c.since, null::int as waiting, c.channel,
      c.person_id
    from closed c
    join receiver r on r.account_id = c.account_id and r.channel = c.channel
      and r.person_id is not distinct from c.person_id and ${wants('c.kind')}
    where c.is_told
  ),
  beginning as (
    select t.account_id, t.kind, false, t.subject_id, t.subject, t.since, t.waiting, r.channel, r.person_id
    from troubles t
    join receiver r on r.account_id = t.account_id and ${wants('t.kind')}
    where not exists (
      select from notices n
      where n.subject_id = t.subject_id and n.kind = t.kind and n.channel = r.channel
        and n.person_id is not distinct from r.person_id
        and (n.is_open or not n.is_over and n.state <> 'cancelled'
          and n.created_at > clock_timestamp() - interval '${QUIET_MINUTES} minutes')
    )
  )
  insert into notices (${COLUMNS})
  select ${NEW_ID}, account_id, kind, is_over, not is_over, subject_id, subject, since, waiting, channel, person_id,
    clock_timestamp()
  from (select * from ending union all select * from beginning) as found`

/**
 * Looks for troubles that began or ended, and leaves a notice for each receiver that wants to know. The state of the
 * database decides what is new, so a process that is killed loses nothing.
 */
export async function findNotices(db: Database, { hasMail }: { hasMail: boolean }): Promise<void> {
  await db.transaction(async (tx) => {
    const [lock] = await run<{ isMine: boolean }>(tx, LOCK)
    if (lock?.isMine) await run(tx, FIND, [hasMail])
  })
}
