import { runEvery } from '../async/run-every.ts'
import { inTime } from '../async/timeout.ts'
import { isRowFault } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { run } from '../db/statement.ts'
import { eventIdOf } from './event-ids.ts'
import { GIVE_BACK } from './idempotency-keys.ts'
import { OUR_FAULT } from './rows.ts'
import { OF_REQUEST, tail } from './tail.ts'

const EVERY_MS = 5_000
/** How long no sweeper settles anything after a statement of one failed: what living processes know is stored first. */
const REST_S = 15
const REST = 'sweep_rest'
const NOT_TRIED = 'it stopped before this recipient was tried'
const MESSAGES_PER_ROUND = 100
/** A round to which the database never responds does not keep the next one from running. */
const ROUND_MS = 60_000

const isDue = (which: string) => `lease_until < clock_timestamp() and ${which}
      and not exists (select from leases where name = '${REST}' and until > clock_timestamp())`

// One request: no lock waits for a process that may be paused in its turn. The rows of the recipients are deleted
// before they are looked at: only what the delete returns shows a marker that was set a moment ago, and none can be set
// any more.
// It gives up a lock after a second, as records do.
const sweepOf = (which: string) => `
  with due as materialized (
    select id from open_messages where ${isDue(which)} order by id limit ${MESSAGES_PER_ROUND}
    for update skip locked
  ),
  due_message as (
    delete from open_messages m using due where m.id = due.id
    returning m.*
  ),
  recipient as (
    delete from open_recipients o using due where o.message_id = due.id
    returning o.message_id, o.position, o.event_id, o.email, o.kind, o.marked_at is not null as marked
  ),
  outcome as (
    select o.message_id, o.position, o.email, o.kind, 'bounced' as status,
      case when o.marked then 'connection_timeout' else 'temporary_failure' end as reason,
      not o.marked as retryable, o.marked as in_doubt, null::json as smtp, null::json as suppression,
      case when not o.marked then '${OUR_FAULT}${NOT_TRIED}' end as detail,
      '' as provider, null as refusal, false as proof_of_life, null as address, null::json as entry,
      ${eventIdOf('o.event_id')} as event_id
    from recipient o join due_message m on m.id = o.message_id
    where o.message_id in (select message_id from recipient where marked)
  ),
  message as (
    select m.*, ${OF_REQUEST}, false as sandbox, null::json as checks, first.status, first.reason, 0 as size_bytes, null::text as digest,
      null::text as traceparent
    from due_message m join outcome first on first.message_id = m.id and first.position = 0
  ),
  released as (
    select * from due_message where id not in (select id from message)
  ),
  ${GIVE_BACK},
  ${tail({ shard: '0', leaseMs: 'null' })}
  union all
  select null, null, null from released`

export const SWEEP = sweepOf('true')
const sweepOne = (messageId: string) => sweepOf(`id = '${messageId}'::uuid`)

const DUE = `select id from open_messages where ${isDue('true')} order by id limit ${MESSAGES_PER_ROUND}`

const REST_NOW = `
  insert into leases as l (name, holder, until)
  values ('${REST}', gen_random_uuid(), clock_timestamp() + interval '${REST_S} seconds')
  on conflict (name) do update set until = greatest(l.until, excluded.until)`

export interface SweepResult {
  /** Messages with a marker: settled, the marked recipients in doubt, the others temporary failures. */
  settled: number
  /** Messages without one: deleted, as if the request had never come. */
  released: number
}

/**
 * Settles the messages whose lease is over: a crash or a pause left them behind. Never mails anything. A message that
 * PostgreSQL refuses to settle stays; the others are settled, and then its error is thrown.
 */
export async function sweep(db: Database): Promise<SweepResult> {
  try {
    return await settleDue(db, SWEEP)
  } catch (error) {
    if (!isRowFault(error)) throw error
  }
  const swept = { settled: 0, released: 0 }
  let fault: unknown
  for (const { id } of await run<{ id: string }>(db, DUE)) {
    try {
      const { settled, released } = await settleDue(db, sweepOne(id))
      swept.settled += settled
      swept.released += released
    } catch (error) {
      if (!isRowFault(error)) throw error
      fault = error
    }
  }
  if (swept.settled + swept.released === 0) throw fault
  return swept
}

/** Settles one message, for requests that wait for it. */
export async function sweepMessage(db: Database, messageId: string): Promise<void> {
  if (!UUID.test(messageId)) throw new Error('not the id of a message')
  await settleDue(db, sweepOne(messageId))
}

const UUID = /^[\da-f-]{36}$/

/** Several statements in one request are one transaction, and take no parameters. */
async function settleDue(db: Database, statement: string): Promise<SweepResult> {
  try {
    const results = await run<never>(db, `set local lock_timeout = '1s'; ${statement}`)
    const rows = results.at(-1) as unknown as { id: string | null }[]
    const settled = rows.filter(({ id }) => id !== null).length
    return { settled, released: rows.length - settled }
  } catch (error) {
    // Nothing was settled. A row that is refused says nothing of others.
    if (!isRowFault(error)) await run(db, REST_NOW).catch(() => {})
    throw error
  }
}

interface SweepingParts {
  report(result: SweepResult | { error: unknown }): void
  /** Wraps each round, to count it. */
  wrap?(round: () => Promise<void>): () => Promise<void>
}

/**
 * Sweeps every five seconds until stopped. `report` is called with the result of a round that found messages, and with
 * the error of a round that failed; the next round tries again.
 */
export function keepSweeping(db: Database, { report, wrap = (round) => round }: SweepingParts): { stop(): void } {
  async function round(): Promise<void> {
    for (;;) {
      const result = await inTime(sweep(db), ROUND_MS)
      if (result.settled + result.released > 0) report(result)
      if (result.settled + result.released < MESSAGES_PER_ROUND) break
    }
  }
  return runEvery(EVERY_MS, wrap(round), (error) => report({ error }))
}
