import type { Sql } from 'postgres'
import { publicId } from '../../server/db/ids.ts'
import { pauseFor } from '../harness/waits.ts'
import type { OpenRow, Snapshot, WebhookRows } from '../reliability/logs.ts'

/** Reads everything that is stored, of all accounts or of one, in one transaction. */
export function takeSnapshot(sql: Sql, account?: string): Promise<Snapshot> {
  return sql.begin('isolation level repeatable read read only', async (transaction) => {
    const tx = transaction as unknown as Sql
    const ours = accountOf(tx, account)
    const messages = await tx`
      select id, request ->> 'subject' as request, status, reason from messages where ${ours} order by id`
    const recipients = await tx`select * from recipients where ${ours} order by message_id, position`
    const events = await tx`select * from events where ${ours} order by id`
    return {
      atMs: performance.now(),
      messages: messages.map(({ id, request, status, reason }) => ({
        id: publicId('msg', id),
        request,
        status,
        reason,
      })),
      recipients: recipients.map((row) => ({
        message: publicId('msg', row.message_id),
        event: publicId('evt', row.event_id),
        email: row.email,
        status: row.status,
        reason: row.reason,
        inDoubt: row.in_doubt,
        detail: row.detail ?? undefined,
      })),
      events: events.map((row) => ({
        id: publicId('evt', row.id),
        message: publicId('msg', row.message_id),
        recipient: row.recipient,
        status: row.status,
        reason: row.reason,
      })),
      open: await openRows(tx, account),
      webhooks: await webhookRows(tx, account),
    }
  })
}

const accountOf = (sql: Sql, account?: string) => (account ? sql`account_id = ${account}` : sql`true`)

export async function openRows(sql: Sql, account?: string): Promise<OpenRow[]> {
  const rows = await sql`
    select coalesce(message_id, id) as message, email, marked_at, request ->> 'subject' as request,
      coalesce(open_messages.claim, open_recipients.claim) as claim
    from open_recipients full join open_messages on id = message_id
    where ${accountOf(sql, account)} order by message_id, position`
  return rows.map(({ message, request, email, marked_at, claim }) => {
    return { message: publicId('msg', message), request, email, marked: marked_at !== null, claim }
  })
}

async function webhookRows(sql: Sql, account?: string): Promise<WebhookRows> {
  const ours = accountOf(sql, account)
  const [now] = await sql`select ${ms(sql, 'clock_timestamp()')} as ms`
  const events = await sql`
    select id, account_id, status, ${ms(sql, 'created_at')} as created from events where not sandbox and ${ours}`
  const dispatches = await sql`
    select id, event_id, message_id, account_id, endpoint_id, kind, state, ${ms(sql, 'created_at')} as created, ${ms(sql, 'ended_at')} as ended,
      null::int as attempt, null::float8 as due, null::boolean as handed_over
    from dispatches where ${ours}
    union all
    select id, event_id, message_id, account_id, endpoint_id, kind, 'waiting', ${ms(sql, 'created_at')}, null,
      attempt, ${ms(sql, 'due_at')}, handed_over_at is not null
    from open_dispatches where ${ours} order by id`
  const attempts = await sql`
    select dispatch_id, number, outcome, status_code, ${ms(sql, 'finished_at')} as finished
    from attempts where ${account ? sql`dispatch_id in (select id from dispatches where ${ours})` : ours}
    order by dispatch_id, number, started_at`
  return {
    nowMs: now!.ms,
    events: events.map((row) => ({
      id: publicId('evt', row.id),
      account: row.account_id,
      status: row.status,
      createdMs: row.created,
    })),
    dispatches: dispatches.map((row) => ({
      id: publicId('dsp', row.id),
      event: publicId('evt', row.event_id),
      message: publicId('msg', row.message_id),
      account: row.account_id,
      endpoint: publicId('whk', row.endpoint_id),
      kind: row.kind,
      state: row.state,
      createdMs: row.created,
      ...(row.ended === null
        ? { next: { attempt: row.attempt, dueMs: row.due, handedOver: row.handed_over } }
        : { endedMs: row.ended }),
    })),
    attempts: attempts.map((row) => ({
      dispatch: publicId('dsp', row.dispatch_id),
      number: row.number,
      outcome: row.outcome,
      status: row.status_code,
      finishedMs: row.finished,
    })),
  }
}

/** An SQL expression for a time in Unix milliseconds. */
const ms = (sql: Sql, time: string) => sql.unsafe(`(extract(epoch from ${time}) * 1000)::float8`)

/** Ends leases at once, so that a run does not wait half a minute for them to expire. */
export async function endLeases(sql: Sql, of: { requests: string[] } | { claims: string[] }): Promise<void> {
  const which =
    'claims' in of ? sql`claim = any(${of.claims}::uuid[])` : sql`request ->> 'subject' in ${sql(of.requests)}`
  await sql`
    with over as (
      update open_messages set lease_until = clock_timestamp() - interval '1 second'
      where ${which} returning id)
    update open_recipients set lease_until = clock_timestamp() - interval '1 second'
    from over where message_id = over.id`
  if ('claims' in of) {
    await sql`update open_dispatches set lease_until = clock_timestamp() - interval '1 second'
      where lease_until is not null and id = any(${of.claims}::uuid[])`
    await sql`update batch_keys set lease_until = clock_timestamp() - interval '1 second'
      where claim = any(${of.claims}::uuid[])`
  }
}

/** Waits until the sessions from these ports have ended. Until then their last statements may still run. */
export async function waitForSessionsToEnd(sql: Sql, ports: number[]): Promise<void> {
  const deadline = performance.now() + 20_000
  for (;;) {
    const [row] = await sql`
      select count(*)::int as sessions from pg_stat_activity
      where datname = current_database() and client_port = any(${ports}::int[])`
    if (row!.sessions === 0) return
    if (performance.now() > deadline) throw new Error(`${row!.sessions} sessions of a dead process do not end`)
    await pauseFor(10)
  }
}
