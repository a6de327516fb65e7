import { randomBytes } from 'node:crypto'
import { utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { freezeFinding, locksFinding, slotFinding } from '../../../cli/doctor/cluster.ts'
import { type Block, readBlocks, readCluster } from '../../../server/db/cluster.ts'
import { connect, type Database } from '../../../server/db/connect.ts'
import { applyMigrations } from '../../../server/db/migrations.ts'
import { watchCluster } from '../../../server/telemetry/installation.ts'
import { createMetrics } from '../../../server/telemetry/metrics.ts'
import { startThrowaway } from '../../harness/throwaway.ts'
import { temporaryFolder, untilEnd } from '../../harness/until-end.ts'
import { diagnose } from './patients.ts'

// What can stop the whole PostgreSQL server. The server is real; test/real/cluster-alerts.test.ts has the faults for
// which a server must be prepared.

// A server of its own: what other tests lock in theirs would be seen, too.
const server = untilEnd(await startThrowaway())
await applyMigrations(server.url)
const database: { url: string; db: Database } = { url: server.url, db: connect(server.url) }
const env: { DATABASE_URL: string } = { DATABASE_URL: database.url }
await database.db.$client.unsafe('create table things (id int primary key); insert into things values (1)')
afterAll(() => database.db.$client.end({ timeout: 5 }))

/** A role without rights on others' sessions. Roles are those of the whole cluster. */
async function stranger() {
  const role = `stranger_${randomBytes(6).toString('hex')}`
  await database.db.$client.unsafe(`create role ${role} login password 'x'`)
  const url = database.url.replace(/\/\/[^@]*@/, `//${role}:x@`)
  onTestFinished(() => database.db.$client.unsafe(`drop role ${role}`).then(() => {}))
  return { role, url }
}

/** A session that holds a row, and one that waits for it. */
async function blocked(): Promise<{ blocker: number }> {
  const [holds, waits] = ['holds', 'waits'].map((application_name) =>
    postgres(database.url, { max: 1, connection: { application_name, statement_timeout: 0, lock_timeout: 0 } }),
  ) as [postgres.Sql, postgres.Sql]
  const held = await holds.reserve()
  await held`begin`
  const [row] = await held`update things set id = id where id = 1 returning pg_backend_pid() as pid`
  const waiting = waits`update things set id = id where id = 1`.catch(() => {})
  onTestFinished(async () => {
    await held`rollback`
    held.release()
    await waiting
    await Promise.all([holds.end(), waits.end()])
  })
  await expect.poll(async () => (await readBlocks(database.db)).length, { timeout: 10_000 }).toBeGreaterThan(0)
  return { blocker: row!.pid }
}

test('who holds a lock for which a session waits is named, with its statement, its age and the way out', async () => {
  const { blocker } = await blocked()
  const finding = await diagnose('locks', env)
  expect(finding).toMatchObject({ state: 'warning', wayOut: `End it: select pg_terminate_backend(${blocker});` })
  expect(finding.seen).toMatch(
    new RegExp(
      `1 session waits, the longest for \\d+ s, for process ${blocker} of PostgreSQL \\(user \\S+, program holds, ` +
        'open for \\d+ s\\)\\. Its last statement: update things',
    ),
  )
})

test('a user without rights sees who holds it, and the GRANT that shows its statement', async () => {
  const { blocker } = await blocked()
  const { role, url } = await stranger()
  const db = connect(url, { connections: 1 })
  onTestFinished(() => db.$client.end({ timeout: 0 }))
  expect(await readBlocks(db)).toMatchObject([{ blocker, query: null, heldSeconds: null }])
  const { seen, wayOut } = await diagnose('locks', { DATABASE_URL: url })
  expect(seen).toContain(`for process ${blocker} of PostgreSQL`)
  expect(wayOut).toContain(`grant pg_read_all_stats to "${role}";`)
})

test('every figure of the server can be read by a user without rights', async () => {
  const { url } = await stranger()
  const db = connect(url, { connections: 1 })
  onTestFinished(() => db.$client.end({ timeout: 0 }))
  const cluster = await readCluster(db)
  expect(cluster).toMatchObject({ slots: expect.any(Array), archivedSecondsAgo: null })
  expect(cluster.sessions).toBeGreaterThan(0)
  expect(cluster.sessionLimit).toBeGreaterThan(cluster.sessions)
  expect(cluster.freezeAge).toBeGreaterThan(0)
})

test('a replication slot without a receiver is shown with the WAL that it keeps', async () => {
  const name = `away_${randomBytes(4).toString('hex')}`
  const { $client } = database.db
  await $client.unsafe(`select pg_create_physical_replication_slot('${name}', true)`)
  onTestFinished(() => $client.unsafe(`select pg_drop_replication_slot('${name}')`).then(() => {}))
  const { slots } = await readCluster(database.db)
  expect(slots).toContainEqual({ name, state: 'inactive', keptBytes: expect.any(Number) })
  expect((await diagnose('replication_slots', env)).seen).toContain(`${name} is inactive, with`)
})

test('a slot is bad when it is lost, or when it has no receiver and keeps more than 10 GiB', () => {
  const gib = 2 ** 30
  const state = (slot: Partial<Parameters<typeof slotFinding>[0]>) =>
    slotFinding({ name: 'standby', state: 'active', keptBytes: 0, ...slot }).state
  expect(state({ keptBytes: 100 * gib })).toBe('ok')
  expect(state({ state: 'inactive', keptBytes: 10 * gib })).toBe('ok')
  expect(state({ state: 'inactive', keptBytes: 10 * gib + 1 })).toBe('warning')
  expect(state({ state: 'lost' })).toBe('failed')
})

test('rows that are not frozen are a warning from a thousand million transactions on', () => {
  expect(freezeFinding(999_999_999).state).toBe('ok')
  expect(freezeFinding(1_000_000_000)).toMatchObject({
    state: 'warning',
    seen: 'the oldest row is 1000 million transactions old; at 2,100 million no mail can be sent',
  })
})

test('a prepared transaction that holds a lock has no process to end', () => {
  const block: Block = {
    waiting: 7,
    waitedSeconds: 3,
    blocker: 0,
    user: null,
    application: null,
    query: null,
    heldSeconds: null,
  }
  expect(locksFinding([block], 'verdict')).toEqual({
    state: 'warning',
    seen: '1 session waits, the longest for 3 s, for a prepared transaction',
    wayOut: 'Commit it, or roll it back: pg_prepared_xacts.',
  })
})

test('the age of the newest back-up is that of the file that each back-up writes, and otherwise not known', async () => {
  expect(await diagnose('backup', env)).toMatchObject({ state: 'skipped', seen: expect.stringMatching('not known') })
  const folder = temporaryFolder()
  const file = join(folder, 'done')
  const withFile = { ...env, BACKUP_FILE: file }
  expect(await diagnose('backup', withFile)).toMatchObject({ state: 'warning', seen: `${file} does not exist` })
  await writeFile(file, '')
  expect(await diagnose('backup', withFile)).toMatchObject({ state: 'ok', seen: 'the newest one is 0 hours old' })
  const hoursAgo = Date.now() / 1_000 - 26 * 3_600 - 1
  await utimes(file, hoursAgo, hoursAgo)
  expect(await diagnose('backup', withFile)).toMatchObject({ state: 'warning', seen: 'the newest one is 26 hours old' })
  const metrics = createMetrics('api')
  watchCluster(metrics, database.db, file)
  expect((await metrics.snapshot()).backupAge).toMatchObject([{ value: expect.any(Number) }])
})

test('sessions, frozen rows, dead rows and the disk are well in a small database', async () => {
  for (const name of ['sessions', 'freeze', 'dead_rows', 'space'])
    expect({ name, ...(await diagnose(name, env)) }).toMatchObject({ name, state: 'ok' })
})
