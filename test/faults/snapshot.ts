import type { Sql } from 'postgres'
import { showId } from '../../server/db/ids.ts'
import type { OpenRow, Snapshot } from '../reliability/logs.ts'

/** All that is stored, in one transaction. */
export function takeSnapshot(sql: Sql): Promise<Snapshot> {
  return sql.begin('isolation level repeatable read read only', async (tx) => ({
    atMs: performance.now(),
    messages: (await tx`select id, request ->> 'subject' as request, status, reason from messages order by id`).map(
      ({ id, request, status, reason }) => ({ id: showId('msg', id), request, status, reason }),
    ),
    recipients: (await tx`select * from recipients order by message_id, position`).map((row) => ({
      message: showId('msg', row.message_id),
      event: showId('evt', row.event_id),
      email: row.email,
      status: row.status,
      reason: row.reason,
      inDoubt: row.in_doubt,
    })),
    events: (await tx`select * from events order by id`).map((row) => ({
      id: showId('evt', row.id),
      message: showId('msg', row.message_id),
      recipient: row.recipient,
      status: row.status,
      reason: row.reason,
    })),
    open: await openRows(tx as unknown as Sql),
  }))
}

export async function openRows(sql: Sql): Promise<OpenRow[]> {
  const rows = await sql`
    select coalesce(message_id, id) as message, email, marked_at, request ->> 'subject' as request,
      coalesce(open_messages.claim, open_recipients.claim) as claim
    from open_recipients full join open_messages on id = message_id order by message_id, position`
  return rows.map(({ message, request, email, marked_at, claim }) => {
    return { message: showId('msg', message), request, email, marked: marked_at !== null, claim }
  })
}

/** As if the time of their leases had passed: what else a run would wait half a minute for. */
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
    await sql`update batch_keys set lease_until = clock_timestamp() - interval '1 second'
      where claim = any(${of.claims}::uuid[])`
  }
}

/** Waits until the sessions that came from these ports are over: until then their last statements may still run. */
export async function sessionsEnd(sql: Sql, ports: number[]): Promise<void> {
  const deadline = performance.now() + 20_000
  for (;;) {
    const [row] = await sql`
      select count(*)::int as sessions from pg_stat_activity
      where datname = current_database() and client_port = any(${ports}::int[])`
    if (row!.sessions === 0) return
    if (performance.now() > deadline) throw new Error(`${row!.sessions} sessions of a dead process do not end`)
    await new Promise((done) => setTimeout(done, 10))
  }
}
