import postgres from 'postgres'
import { expect, test } from 'vitest'
import { applyMigrations } from '../../server/db/migrations.ts'
import { migrateFirst } from '../harness/older-database.ts'
import { testDatabase } from '../harness/postgres.ts'
import { PREVIOUS_RELEASE } from '../releases.ts'

const { url, db } = await testDatabase('template1')

/** A connection with the name that the processes of a release give theirs. */
const session = (application_name: string) =>
  postgres(url, { max: 1, onnotice: () => {}, connection: { application_name } })

/** How many migrations release 0.2 has. */
const COUNT_OF_0_2 = Number(/^\d+/.exec(PREVIOUS_RELEASE.lastMigration)![0]) + 1

async function applied(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from drizzle.__drizzle_migrations`
  return row!.count
}

const ID = '019a0000-0000-7000-8000-000000000001'
const ACCOUNT = '019a0000-0000-7000-8000-00000000000a'
const OPEN = '019a0000-0000-7000-8000-000000000002'

/** A message with its recipient, dispatch and attempt, and an open one, with all that 0.2 could leave empty. */
const ROWS_OF_0_2 = `
  create table messages_old partition of messages for values from (minvalue) to (maxvalue);
  create table recipients_old partition of recipients for values from (minvalue) to (maxvalue);
  create table dispatches_old partition of dispatches for values from (minvalue) to (maxvalue);
  create table attempts_old partition of attempts for values from (minvalue) to (maxvalue);
  insert into messages (id, account_id, status, sandbox, region, size_bytes, created_at, completed_at, request)
    values ('${ID}', '${ACCOUNT}', 'delivered', false, 'eu', 1, now(), now(), '{}');
  insert into recipients (message_id, position, event_id, email, status, retryable, in_doubt)
    values ('${ID}', 0, '${ID}', 'ann@example.com', 'delivered', false, false);
  insert into dispatches (id, event_id, message_id, account_id, kind, state, created_at, ended_at)
    values ('${ID}', '${ID}', '${ID}', '${ACCOUNT}', 'original', 'exhausted', now(), now());
  insert into attempts (dispatch_id, number, started_at, outcome) values ('${ID}', 1, now(), 'unknown');
  insert into open_messages (id, account_id, claim, lease_until, created_at, region, request)
    values ('${OPEN}', '${ACCOUNT}', '${ID}', now(), now(), 'eu', '{}');
  insert into open_recipients (message_id, position, event_id, email, claim, lease_until)
    values ('${OPEN}', 0, '${OPEN}', 'ann@example.com', '${ID}', now())`

const FILLED_IN = `
  select 'recipients' as table, account_id::text as filled from recipients
  union all select 'attempts', account_id::text from attempts
  union all select 'dispatches', endpoint_id::text from dispatches
  union all select 'open_recipients', account_id::text from open_recipients`

test('npm run migrate refuses while a process of 0.2 uses the database; once it has stopped, it runs and fills in its rows', async () => {
  await migrateFirst(db, COUNT_OF_0_2)
  // It has the name of a process of 0.3.
  await db.$client.end()
  const old = session('verdict')
  await old.unsafe(ROWS_OF_0_2)
  await old`select 1`
  const named = session('verdict 0.2.9')
  await named`select 1`
  await expect(applyMigrations(url)).rejects.toThrow(
    /^processes of a release before 0\.3\.0 use the database \(sessions: 2\)\..* stop every API and worker process/,
  )
  const before = await applied(old)
  await Promise.all([old.end(), named.end()])
  // Two that start together take turns, and sessions of other programs do not count.
  const other = session('psql')
  await other`select 1`
  await Promise.all([applyMigrations(url), applyMigrations(url)])
  expect(await applied(other)).toBeGreaterThan(before)
  const tables = ['attempts', 'dispatches', 'open_recipients', 'recipients']
  expect((await other.unsafe(FILLED_IN)).toSorted((a, b) => a.table.localeCompare(b.table))).toEqual(
    tables.map((table) => ({ table, filled: ACCOUNT })),
  )
  // History refuses updates again.
  await expect(other`update recipients set status = 'bounced'`).rejects.toThrow('history never changes')

  // From then on releases run beside each other: sessions of any release do not matter.
  const neighbour = session('verdict 0.3.1')
  await neighbour`select 1`
  await applyMigrations(url)
  await Promise.all([other.end(), neighbour.end()])
})
