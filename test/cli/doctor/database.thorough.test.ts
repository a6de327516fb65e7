import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { firstIdAt, newId } from '../../../server/db/ids.ts'
import { makePartitions } from '../../../server/db/partitions.ts'
import { run } from '../../../server/db/statement.ts'
import { openAccount } from '../../harness/account.ts'
import { testDatabase } from '../../harness/postgres.ts'
import { temporaryFolder } from '../../harness/until-end.ts'
import { diagnose, ENCRYPTION_KEYS } from './patients.ts'

// Faults of the database and of what is in it. Each one is real.

const DAY_MS = 86_400_000

const database = await testDatabase()
const env: { DATABASE_URL: string } = { DATABASE_URL: database.url }
const accountId = (await openAccount(database.db, ENCRYPTION_KEYS, 'one.test')).id

const sql = (text: string, parameters: Parameters<typeof run>[2] = []) => run(database.db, text, parameters)

test('a database without a fault is well', async () => {
  // The day may have ended since the template was made.
  await makePartitions(database.db, 1)
  for (const name of [
    'database',
    'writable',
    'writes',
    'indexes',
    'migrations',
    'clock',
    'secrets',
    'partitions',
    'retention',
    'backlog',
  ]) {
    expect({ name, ...(await diagnose(name, env)) }).toMatchObject({ name, state: 'ok' })
  }
  expect(await diagnose('endpoints', env)).toMatchObject({ state: 'ok' })
  expect(await diagnose('domains', env)).toEqual({ state: 'ok', seen: '1 verified, 0 not yet' })
})

test('a send that cannot be stored fails, with the cause: a trigger, and a lock', async () => {
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin raise 'not ours'; end $$`)
  await sql('create trigger refuse before insert on events for each row execute function refuse()')
  expect(await diagnose('writes', env)).toMatchObject({ state: 'failed', seen: 'a send cannot be stored: not ours' })
  await sql('drop function refuse cascade')
  const locked = database.db.transaction(async (tx) => {
    await run(tx, 'lock table messages in share mode')
    return diagnose('writes', env)
  })
  expect(await locked).toMatchObject({
    state: 'failed',
    seen: 'a send cannot be stored: canceling statement due to lock timeout',
    wayOut: expect.stringContaining('pg_locks'),
  })
  expect(await diagnose('writes', env)).toMatchObject({ state: 'ok' })
})

test('an index whose build failed is named', async () => {
  await sql('create table built (n int)')
  await sql('insert into built values (1), (1)')
  await expect(sql('create unique index concurrently built_once on built (n)')).rejects.toThrow()
  expect(await diagnose('indexes', env)).toMatchObject({
    state: 'warning',
    seen: expect.stringContaining('built_once'),
    wayOut: expect.stringContaining('REINDEX INDEX CONCURRENTLY'),
  })
  await sql('drop table built')
})

test('a database that cannot be reached fails once, and the checks that need it are skipped', async () => {
  expect(await diagnose('database', {})).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('ECONNREFUSED'),
    wayOut: expect.stringContaining('Check that PostgreSQL runs'),
  })
  for (const name of ['writable', 'migrations', 'clock', 'backlog']) {
    expect(await diagnose(name, {})).toEqual({ state: 'skipped', seen: 'the database cannot be used' })
  }
})

test('a database without tables fails by its migrations', async () => {
  const DATABASE_URL = database.url.replace(new URL(database.url).pathname, '/postgres')
  expect(await diagnose('migrations', { DATABASE_URL })).toMatchObject({
    state: 'failed',
    wayOut: 'Create them: npm run migrate',
  })
  expect(await diagnose('backlog', { DATABASE_URL })).toMatchObject({ state: 'skipped' })
})

test('a pending migration fails', async () => {
  const newest = '(select max(id) from drizzle.__drizzle_migrations)'
  const [removed] = await run<{ hash: string; created_at: string }>(
    database.db,
    `delete from drizzle.__drizzle_migrations where id = ${newest} returning hash, created_at`,
  )
  expect(await diagnose('migrations', env)).toMatchObject({ state: 'failed', wayOut: 'Apply them: npm run migrate' })
  const { hash, created_at } = removed!
  await sql('insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)', [hash, created_at])
  expect(await diagnose('migrations', env)).toMatchObject({ state: 'ok' })
})

test('a lost key fails and is named; a damaged value fails without a lost key', async () => {
  await openAccount(database.db, ENCRYPTION_KEYS, 'two.test')
  const other = { ...env, ENCRYPTION_KEYS: `k2:${randomBytes(32).toString('base64')}` }
  expect(await diagnose('secrets', other)).toMatchObject({
    state: 'failed',
    seen: expect.stringMatching(/^the key "k1" is lost, so the API does not start: one of 2 in dkim_keys: /),
    wayOut: expect.stringContaining('LOST_ENCRYPTION_KEYS'),
  })
  const [key] = await run<{ id: string; sealed: Buffer }>(
    database.db,
    'select id, private_key as sealed from dkim_keys order by id',
  )
  const damaged = Buffer.from(key!.sealed)
  damaged[damaged.length - 1]! ^= 1
  await sql('update dkim_keys set private_key = $2 where id = $1', [key!.id, damaged])
  expect(await diagnose('secrets', env)).toMatchObject({
    state: 'failed',
    seen: expect.stringMatching(/^damaged values: one of 2 in dkim_keys: /),
  })
  await sql('update dkim_keys set private_key = $2 where id = $1', [key!.id, key!.sealed])
})

test('a webhook that is late is a warning, and one that is late by an hour fails', async () => {
  const [id, eventId] = [newId(Date.now()), newId(Date.now())]
  await sql(
    `insert into open_dispatches (id, event_id, message_id, account_id, endpoint_id, kind, created_at, due_at, deadline_at)
     values ($1, $2, $2, $3, $3, 'original', now(), now() - interval '10 minutes', now() + interval '1 day')`,
    [id, eventId, accountId],
  )
  expect(await diagnose('backlog', env)).toMatchObject({
    state: 'warning',
    seen: '1 of 1 webhooks are late, the oldest by 10 minutes',
    wayOut: expect.stringContaining('npm run worker'),
  })
  await sql(`update open_dispatches set due_at = now() - interval '2 hours'`)
  expect(await diagnose('backlog', env)).toMatchObject({ state: 'failed' })
  // An attempt that runs is not late.
  await sql('update open_dispatches set started_at = now()')
  expect(await diagnose('backlog', env)).toMatchObject({ state: 'ok' })
  await sql('delete from open_dispatches')
})

test('an endpoint that has failed for more than an hour is a warning with its host', async () => {
  await sql(
    `insert into webhook_endpoints (id, account_id, url, secret) values ($1, $1, 'https://hooks.one.test/in?token=x', '')`,
    [accountId],
  )
  await sql(
    `insert into webhook_hours (account_id, endpoint_id, hour, acknowledged, failed, last_failed_at, failed_since)
     values ($1, $1, date_trunc('hour', now() - interval '3 hours'), 0, 5, now(), 5)`,
    [accountId],
  )
  expect(await diagnose('endpoints', env)).toMatchObject({
    state: 'warning',
    seen: '1 have acknowledged nothing for more than an hour: hooks.one.test',
  })
})

test('the domain that the service mails from itself must be verified', async () => {
  expect(await diagnose('notify_from', env)).toMatchObject({ state: 'skipped' })
  const from = (address: string) => diagnose('notify_from', { ...env, NOTIFY_FROM: address })
  expect(await from('Verdict@One.test')).toEqual({ state: 'ok', seen: 'one.test is verified' })
  expect(await from('verdict@nowhere.test')).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('nowhere.test is verified in no account'),
    wayOut: expect.stringContaining('verdict domains add nowhere.test'),
  })
  expect(await from('verdict')).toEqual({ state: 'skipped', seen: 'NOTIFY_FROM is missing or invalid' })
})

test('a domain whose records are gone is a warning, and so are checks that are late', async () => {
  await sql(`update domains set next_check_at = now() - interval '20 minutes' where name = 'one.test'`)
  expect(await diagnose('domains', env)).toMatchObject({
    state: 'warning',
    seen: '1 were to be checked in DNS more than 15 minutes ago',
  })
  await sql("update domains set next_check_at = null, failing_since = now() where name = 'one.test'")
  expect(await diagnose('domains', env)).toMatchObject({
    state: 'warning',
    seen: expect.stringContaining('DNS no longer has the records of one.test'),
    wayOut: 'See what is missing: verdict domains show one.test',
  })
})

test('an archive that lacks old days, or that cannot be read, is a warning', async () => {
  expect(await diagnose('archive', env)).toEqual({ state: 'skipped', seen: 'HISTORY_ARCHIVE is not set' })
  const folder = temporaryFolder()
  const archived = { ...env, HISTORY_ARCHIVE: folder }
  expect(await diagnose('archive', archived)).toEqual({ state: 'ok', seen: 'it is empty' })
  for (const name of ['events_20190101', 'events_20190102']) await sql(`create table ${name} (like events)`)
  expect(await diagnose('archive', archived)).toMatchObject({
    state: 'warning',
    seen: 'it is empty; it lacks 2019-01-01, 2019-01-02',
  })
  await sql('drop table events_20190101, events_20190102')
  expect(await diagnose('archive', { ...env, HISTORY_ARCHIVE: join(folder, 'gone') })).toMatchObject({
    state: 'warning',
    seen: expect.stringMatching(/gone cannot be read: ENOENT/),
  })
})

test('a partition that should be gone is a warning, and a missing one for tomorrow fails', async () => {
  const day = Date.UTC(2020, 0, 1)
  const [from, to] = [firstIdAt(day), firstIdAt(day + DAY_MS)]
  await sql(`create table events_20200101 partition of events for values from ('${from}') to ('${to}')`)
  expect(await diagnose('retention', env)).toMatchObject({
    state: 'warning',
    seen: 'it is behind: 1 partitions should be gone, the oldest of 2020-01-01',
  })
  const tomorrow = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')
  await sql(`drop table attempts_${tomorrow}`)
  expect(await diagnose('partitions', env)).toMatchObject({
    state: 'failed',
    seen: expect.stringMatching(/^attempts have none for today or tomorrow/),
  })
})

// The last test: the database stays read-only.
test('a read-only database fails', async () => {
  const name = new URL(database.url).pathname.slice(1)
  await sql(`alter database ${name} set default_transaction_read_only = on`)
  expect(await diagnose('writable', env)).toMatchObject({ state: 'failed', seen: 'it is read-only: no mail is sent' })
})
