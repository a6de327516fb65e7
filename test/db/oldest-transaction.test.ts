import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { transactionFinding } from '../../cli/doctor/transactions.ts'
import { connect } from '../../server/db/connect.ts'
import { type OldestTransaction, readOldestTransaction, streamsState } from '../../server/db/oldest-transaction.ts'
import { shareReadiness } from '../../server/http/site/readiness.ts'
import { watchOldestTransaction } from '../../server/telemetry/installation.ts'
import { createMetrics } from '../../server/telemetry/metrics.ts'
import { diagnose } from '../cli/doctor/patients.ts'
import { testDatabase } from '../harness/postgres.ts'

// The test server has the databases of other tests, too: a transaction of theirs may be older for a moment.

const database = await testDatabase()

/** Opens a transaction in another database of the cluster. Returns its process. */
async function openTransaction(): Promise<number> {
  const url = database.url.replace(new URL(database.url).pathname, '/postgres')
  const session = postgres(url, { max: 1, connection: { application_name: 'backup' } })
  onTestFinished(() => session.end({ timeout: 0 }))
  const held = await session.reserve()
  await held`begin`
  const [row] = await held`select pg_current_xact_id(), pg_backend_pid() as pid`
  return row!.pid
}

const oldest = (change: Partial<OldestTransaction>): OldestTransaction => ({
  ...{ id: '7', pid: 4_711, gid: null, database: 'shop', user: 'ann', application: 'psql', seconds: 75.4 },
  ...change,
})

test('the oldest transaction that has written is found, whatever database of the cluster it is in', async () => {
  const pid = await openTransaction()
  await expect
    .poll(() => readOldestTransaction(database.db), { timeout: 10_000 })
    .toMatchObject({ pid, gid: null, database: 'postgres', application: 'backup', seconds: expect.any(Number) })
})

test('a user without rights sees its process, and not its age', async () => {
  const pid = await openTransaction()
  const { $client } = database.db
  // Roles are those of the whole cluster.
  const role = `stranger_${randomBytes(6).toString('hex')}`
  await $client.unsafe(`create role ${role} login password 'x'`)
  const db = connect(database.url.replace(/\/\/[^@]*@/, `//${role}:x@`), { connections: 1 })
  onTestFinished(async () => {
    await db.$client.end({ timeout: 0 })
    await $client.unsafe(`drop role ${role}`)
  })
  await expect.poll(() => readOldestTransaction(db), { timeout: 10_000 }).toMatchObject({ pid, seconds: null })
})

test('/readyz names the process that holds streams, and stays ready', async () => {
  const checks = async (found: Partial<OldestTransaction> | undefined) => ({
    event_streams: await streamsState(async () => found && oldest(found)),
  })
  const draining = new AbortController().signal
  const read = (found?: Partial<OldestTransaction>) => shareReadiness({ check: () => checks(found), draining }).read()
  expect(await read()).toMatchObject({ status: 'ready', checks: { event_streams: 'ok' } })
  expect(await read({ seconds: 9.9 })).toMatchObject({ checks: { event_streams: 'ok' } })
  expect(await read({})).toEqual({
    status: 'ready',
    checks: { event_streams: 'held for 75 s by process 4711 of PostgreSQL', draining: 'no' },
  })
  expect((await read({ pid: null, gid: 'a\nb' })).checks.event_streams).toBe(
    'held for 75 s by the prepared transaction "a\\nb"',
  )
  expect(await streamsState(() => Promise.reject(new Error('away')))).toBe('unknown')
})

test.each([
  [oldest({ application: 'verdict 0.3.0' }), { verdict: 75.4, other: 0, prepared: 0 }],
  [oldest({}), { verdict: 0, other: 75.4, prepared: 0 }],
  [oldest({ pid: null, gid: 'x', application: '' }), { verdict: 0, other: 0, prepared: 75.4 }],
  [undefined, { verdict: 0, other: 0, prepared: 0 }],
])('the metric says whose the oldest transaction is', async (found, ages) => {
  const metrics = createMetrics('api')
  watchOldestTransaction(metrics, async () => found)
  const { oldestTransaction } = await metrics.snapshot()
  expect(Object.fromEntries(oldestTransaction!.map(({ labels, value }) => [labels[0], value]))).toEqual(ages)
})

test('the doctor reads it from the database', async () => {
  const { state, seen } = await diagnose('transactions', { DATABASE_URL: database.url })
  expect([state, seen]).toEqual([
    expect.stringMatching(/^(ok|warning)$/),
    expect.stringMatching(/none|began|has one open/),
  ])
})

test('the doctor warns of a transaction that is open for ten seconds, and says how to end it', () => {
  expect(transactionFinding(undefined)).toEqual({ state: 'ok', seen: 'none is open' })
  expect(transactionFinding(oldest({ seconds: 3.2 }))).toMatchObject({ state: 'ok' })
  expect(transactionFinding(oldest({}))).toEqual({
    state: 'warning',
    seen: 'process 4711 of PostgreSQL has one open for 75 s (database shop, user ann, program psql): streams of events wait for its end, and lose nothing',
    wayOut: 'End it: select pg_terminate_backend(4711); Until then webhooks get new events, and streams do not.',
  })
})
