import type { Database } from '../db/connect.ts'
import { eventIdOf } from '../events/history.ts'
import { every } from '../every.ts'
import { inTime } from '../in-time.ts'
import { endsSends } from './ending.ts'
import { GIVES_BACK } from './release.ts'

const EVERY_MS = 5_000
const MESSAGES_A_ROUND = 100
/** A round whose answers were lost on the way does not keep the next one from running. */
const ROUND_MS = 60_000

// One statement: no lock waits for a process that may be paused in its turn. The rows of the recipients go before they are looked
// at: only what the delete returns shows a marker that was set a moment ago, and none can be set any more.
const sweeping = (whose: string) => `
  with due as materialized (
    select id from open_messages where lease_until < clock_timestamp() and ${whose} order by id limit ${MESSAGES_A_ROUND}
    for update skip locked
  ),
  taken as (
    delete from open_messages m using due where m.id = due.id
    returning m.*
  ),
  recipient as (
    delete from open_recipients o using due where o.message_id = due.id
    returning o.message_id, o.position, o.event_id, o.email, o.marked_at is not null as marked
  ),
  outcome as (
    select o.message_id, o.position, ${eventIdOf('o.event_id')} as event_id, o.email, 'bounced' as status,
      case when o.marked then 'connection_timeout' else 'temporary_failure' end as reason,
      not o.marked as retryable, o.marked as in_doubt, null::json as smtp, null::json as suppression, null as strike,
      null as strike_email
    from recipient o join taken m on m.id = o.message_id
    where o.message_id in (select message_id from recipient where marked)
  ),
  message as (
    select taken.*, false as sandbox, null::json as checks, first.status, first.reason, 0 as size_bytes
    from taken join outcome first on first.message_id = taken.id and first.position = 0
  ),
  released as (
    select * from taken where id not in (select id from message)
  ),
  ${GIVES_BACK},
  ${endsSends('0', 'null')}
  union all
  select null, null, null from released`

const SWEEP = sweeping('true')
const SWEEP_ONE = sweeping('id = $1::uuid')

export interface Swept {
  /** Messages with a marker: settled, the marked recipients in doubt, the others temporary failures. */
  settled: number
  /** Messages without one: gone, as if the request had never come. */
  released: number
}

/** Settles what a crash or a pause left behind: messages whose lease is over. Nothing is ever mailed. */
export async function sweep(db: Database): Promise<Swept> {
  const rows = await db.$client.unsafe(SWEEP, [], { prepare: true })
  const settled = rows.filter(({ id }) => id !== null).length
  return { settled, released: rows.length - settled }
}

/** The same for one message, for those who wait for it. */
export async function sweepMessage(db: Database, messageId: string): Promise<void> {
  await db.$client.unsafe(SWEEP_ONE, [messageId], { prepare: true })
}

/** Sweeps every five seconds until stopped. `report` hears of what was found and of rounds that failed (the next one tries again). */
export function keepSweeping(db: Database, report: (found: Swept | { error: unknown }) => void): { stop(): void } {
  async function round(): Promise<void> {
    for (;;) {
      const found = await inTime(sweep(db), ROUND_MS)
      if (found.settled + found.released > 0) report(found)
      if (found.settled + found.released < MESSAGES_A_ROUND) break
    }
  }
  return every(EVERY_MS, round, (error) => report({ error }))
}
