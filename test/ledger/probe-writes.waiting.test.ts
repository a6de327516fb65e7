import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { sqlStateOf } from '../../server/db/collector.ts'
import { connect } from '../../server/db/connect.ts'
import { CLAIM } from '../../server/ledger/claim.ts'
import { MARK } from '../../server/ledger/marker.ts'
import { keepProbingWrites, probeWrites } from '../../server/ledger/probe-writes.ts'
import { RECORD } from '../../server/ledger/record.ts'
import { testDatabase } from '../harness/postgres.ts'

// The probe of `writes` finds whatever keeps a send from being stored, in every table that the commits of a send write.

/** The tables that the commits of a send write. */
const WRITTEN = [
  ...new Set(
    [CLAIM, MARK, RECORD].flatMap((statement) =>
      [...statement.matchAll(/(?:insert into|update|delete from) (\w+)/g)].map(([, table]) => table!),
    ),
  ),
].filter((table) => table !== 'set')

const role = `probe_${randomBytes(4).toString('hex')}`
const database = await testDatabase()
const admin = postgres(database.url, { max: 2, onnotice: () => {} })
await admin.unsafe(`create role ${role} login password 'x'`)
await admin.unsafe(`grant all on all tables in schema public to ${role}`)
const url = new URL(database.url)
url.username = role
url.password = 'x'
/** As a user without the rights of a superuser, like that of an installation. */
const db = connect(url.href, { connections: 3, lockMs: 1_000 })
afterAll(async () => {
  await db.$client.end()
  await admin.unsafe(`drop owned by ${role}; drop role ${role}`)
  await admin.end()
})

const codeOf = async (): Promise<string> =>
  probeWrites(db).then(
    () => 'stored',
    (error) => sqlStateOf(error) || error.message,
  )

test('the tables of a send are found in its statements', () => {
  expect(WRITTEN).toEqual(
    expect.arrayContaining(['open_messages', 'open_recipients', 'messages', 'recipients', 'events']),
  )
  expect(WRITTEN).toEqual(expect.arrayContaining(['hourly_stats', 'open_stats', 'open_dispatches', 'suppressions']))
})

test('a probe leaves no row, count or open transaction', async () => {
  const count = async () =>
    Promise.all(
      WRITTEN.map(async (table) => (await admin.unsafe(`select count(*)::int as rows from ${table}`))[0]!.rows),
    )
  const before = await count()
  for (let i = 0; i < 3; i++) expect(await codeOf()).toBe('stored')
  expect(await count()).toEqual(before)
  const open = await admin`select from pg_stat_activity where usename = ${role} and xact_start is not null`
  expect(open.count).toBe(0)
})

test.each(WRITTEN)('a lock on %s is found', async (table) => {
  const held = await admin.reserve()
  await held`begin`
  await held.unsafe(`lock table ${table} in share row exclusive mode`)
  expect(await codeOf()).toBe('55P03')
  await held`rollback`
  held.release()
  expect(await codeOf()).toBe('stored')
})

/** What a send does to a table. */
const RIGHTS: Record<string, string[]> = {
  open_recipients: ['update', 'delete', 'insert'],
  open_messages: ['delete', 'insert'],
  warm_ups: ['update'],
}

test.each(WRITTEN)('a right on %s that was lost is found', async (table) => {
  for (const right of RIGHTS[table] ?? ['insert']) {
    await admin.unsafe(`revoke ${right} on ${table} from ${role}`)
    expect(await codeOf()).toBe('42501')
    await admin.unsafe(`grant ${right} on ${table} to ${role}`)
  }
  expect(await codeOf()).toBe('stored')
})

/** Tables that the message of a probe leaves alone: it has no endpoint, no refusal and no warm-up. */
const UNTOUCHED = ['open_dispatches', 'refusals', 'suppressions', 'warm_ups']

test.each(WRITTEN.filter((table) => !UNTOUCHED.includes(table)))(
  'a trigger that fails on %s is found',
  async (table) => {
    await admin.unsafe(`
    create function fail_probe() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
    create trigger fail_probe before insert on ${table} for each row execute function fail_probe()`)
    expect(await codeOf()).toBe('P0001')
    await admin.unsafe('drop function fail_probe cascade')
    expect(await codeOf()).toBe('stored')
  },
)

test('a trigger that swallows rows is found', async () => {
  await admin.unsafe(`
    create function lose_probe() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger lose_probe before delete on open_messages for each row execute function lose_probe()`)
  expect(await codeOf()).toBe('a row of a send was not stored')
  await admin.unsafe('drop function lose_probe cascade')
})

test.each(WRITTEN)('a newer schema of %s is found', async (table) => {
  const [column] = await admin`
    select attname as name from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and attname = any(
      '{request,claim,emails,request_hash,tenant_id,endpoint_id,delivered,address,email,domain}') limit 1`
  await admin.unsafe(`alter table ${table} rename column ${column!.name} to renamed`)
  expect(await codeOf()).toMatch(/^42703|^42P10|^0A000/)
  await admin.unsafe(`alter table ${table} rename column renamed to ${column!.name}`)
  expect(await codeOf()).toBe('stored')
})

test('a day without a partition is found', async () => {
  const missing = Date.now() + 30 * 86_400_000
  await expect(probeWrites(db, missing)).rejects.toThrow('no partition of relation')
})

test('two failures in a row change the state, and one success changes it back', async () => {
  const changes: unknown[] = []
  const now = () => Date.now()
  const probe = await keepProbingWrites(db, { now, onChange: (error) => void changes.push(error) })
  expect(probe.state()).toBe('ok')
  await admin.unsafe(`revoke insert on messages from ${role}`)
  const revokedMs = performance.now()
  await expect.poll(probe.state).toBe('failing (42501)')
  // Two rounds of two seconds, on a busy machine.
  expect(performance.now() - revokedMs).toBeLessThan(8_000)
  expect(changes).toMatchObject([{ code: '42501' }])
  // Nothing has been recorded for 3 s: a probe proves that it can be again.
  db.recording.begin('record')
  await expect.poll(() => db.recording.waitingMs()).toBeGreaterThan(2_900)
  await admin.unsafe(`grant insert on messages to ${role}`)
  await expect.poll(probe.state).toBe('ok')
  expect(changes.at(-1)).toBe(undefined)
  expect(db.recording.waitingMs()).toBe(0)
  probe.stop()
})
