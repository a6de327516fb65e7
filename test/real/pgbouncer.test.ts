import { randomBytes } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { ReplayService, ReplayState } from '../../gen/verdict/admin/v1/replays_pb.ts'
import { encryptionKeys } from '../../server/config/values.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { databaseFault } from '../../server/db/database-fault.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { takeLease } from '../../server/db/leases.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { run } from '../../server/db/statement.ts'
import { diagnose } from '../cli/doctor/patients.ts'
import { openAccount } from '../harness/account.ts'
import { signIn } from '../harness/person.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'
import { startProgram, waitForOutput } from '../harness/process.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'
import { startTemporal } from '../harness/temporal.ts'
import { atEnd, untilEnd } from '../harness/until-end.ts'
import { until } from '../workflows/world.ts'
import { type PgBouncer, startPgBouncer } from './pgbouncer.ts'
import { type Account, type Product, SENDER_DOMAIN, startProduct } from './product.ts'

// Two API processes and a worker behind Debian's PgBouncer in transaction mode, with fewer sessions than connections.

const SESSIONS = 6
const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
/** A user of its own: its settings must reach no other test. */
const USER = `pooled_${randomBytes(4).toString('hex')}`

let database: TestDatabase
let bouncer: PgBouncer
let receiver: Receiver
let env: Record<string, string>
let account: Awaited<ReturnType<typeof openAccount>>
let products: Product[]
beforeAll(async () => {
  database = await testDatabase('template1')
  await run(database.db, `create role ${USER} login superuser password 'of-this-test'`)
  atEnd(() => run(database.db, `drop owned by ${USER} cascade; drop role ${USER}`))
  const ownUrl = new URL(database.url)
  Object.assign(ownUrl, { username: USER, password: 'of-this-test' })
  bouncer = untilEnd(await startPgBouncer(ownUrl.href, SESSIONS))
  const temporal = untilEnd(await startTemporal())
  receiver = untilEnd(await startReceiver())
  env = {
    DATABASE_URL: `${bouncer.through(ownUrl.href)}?prepare=false`,
    ENCRYPTION_KEYS,
    TEMPORAL_ADDRESS: temporal.address,
    WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
    WEBHOOK_SCHEDULE: '0,1s,1s',
  }
  // Two deployments start together.
  await Promise.all([applyMigrations(env.DATABASE_URL!), applyMigrations(env.DATABASE_URL!)])
  account = await openAccount(database.db, ENCRYPTION_KEYS, SENDER_DOMAIN)
  products = await Promise.all([1, 2].map(() => startProduct({ key: account.key, env } as Account, {})))
  for (const { api } of products) atEnd(() => api.kill('SIGKILL'))
  const worker = startProgram(process.execPath, ['workflows/worker.ts'], env)
  atEnd(() => worker.kill('SIGKILL'))
  await waitForOutput(worker, /"msg":"ready"/)
})
async function call(method: string, path: string, body: object) {
  const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
  const response = await fetch(`${products[0]!.api.url}${path}`, { method, headers, body: JSON.stringify(body) })
  return response.json()
}

const received = () => receiver.requests.map(({ headers }) => headers['service-event-id'])

test('a URL without prepare=false is refused by the pooler, and the error says what to add', async () => {
  const db = connect(env.DATABASE_URL!.replace('?prepare=false', ''), { connections: 1 })
  const error = await run(db, 'select 1').catch((error) => error)
  await db.$client.end()
  expect(databaseFault(error)).toMatchObject({ wayOut: expect.stringContaining('Add ?prepare=false to DATABASE_URL') })
})

test('the doctor says which settings the sessions of the pooler lack, and its statements add them', async () => {
  const found = await diagnose('settings', env)
  expect(found).toMatchObject({
    state: 'warning',
    seen: expect.stringContaining('through a pooler (prepare=false): enable_'),
  })
  const statements = found.wayOut!.replace('Run this: ', '')
  expect(statements.match(/alter role/g)).toHaveLength(5)
  await database.db.$client.unsafe(statements)
  // Sessions have the settings of their start. PgBouncer opens new ones.
  await run(
    database.db,
    'select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and datname = current_database()',
    [USER],
  )
  await until(async () => (await diagnose('settings', env)).state === 'ok')
  for (const name of ['database', 'writable', 'migrations', 'clock', 'secrets', 'partitions']) {
    expect(await diagnose(name, env), name).toMatchObject({ state: 'ok' })
  }
})

test('sends, keys, batches and webhooks work, with more statements at a time than the pooler has sessions', async () => {
  await call('PUT', '/api/v1/webhook', { url: receiver.url })
  const keys = Array.from({ length: 60 }, (_, i) => ({ 'idempotency-key': `pooled-${i}` }))
  const ids = await Promise.all(
    keys.map(async (key) => {
      const [first, second] = await Promise.all(
        products.map(({ send }) => send({ to: 'delivered@simulator.test' }, key)),
      )
      expect([first!.status, first!.body.status], JSON.stringify(first!.body)).toEqual([200, 'delivered'])
      expect(second!.body).toEqual(first!.body)
      return first!.body.message_id
    }),
  )
  expect(new Set(ids).size).toBe(keys.length)
  const email = { from: `orders@${SENDER_DOMAIN}`, to: 'mailbox_full@simulator.test', subject: 'Hi', text: 'Hi' }
  const batch = await call('POST', '/api/v1/emails/batch', { emails: Array(30).fill(email) })
  expect(batch).toMatchObject({ summary: { total: 30, bounced: 30 } })
  await until(() => new Set(received()).size === keys.length + 30)
  const { emails } = await products[1]!.get('/api/v1/emails?limit=100')
  expect(emails).toHaveLength(keys.length + 30)
  const servers = await run<{ count: number }>(
    database.db,
    'select count(*)::int as count from pg_stat_activity where usename = $1',
    [USER],
  )
  expect(servers[0]!.count).toBeLessThanOrEqual(SESSIONS)
})

test('a retry and the replay of a range go through the worker', async () => {
  receiver.script = { status: 503 }
  receiver.requests.length = 0
  await products[0]!.send({ to: 'delivered@simulator.test' })
  await until(() => receiver.requests.length === 1)
  receiver.script = { status: 200 }
  await until(() => receiver.requests.length === 2, 20_000)
  const clock = await createDatabaseClock(database.db)
  const sealer = createSealer(encryptionKeys(ENCRYPTION_KEYS))
  const person = await signIn({ db: database.db, clock, sealer }, { accountId: account.id })
  clock.stop()
  receiver.requests.length = 0
  const replays = person.client(ReplayService, products[1]!.api.url)
  const { replay } = await replays.startReplay({ filter: {}, perSecond: 60 })
  const shown = async () => (await replays.getReplay({ replayId: replay!.replayId })).replay!
  await until(async () => (await shown()).state === ReplayState.FINISHED, 90_000)
  await until(() => new Set(received()).size === 91, 20_000)
})

test('an address is erased through the pooler, while no other erasure runs', async () => {
  const email = 'erased@example.com'
  await call('POST', '/api/v1/suppression', { email })
  const erase = () => startProgram(process.execPath, ['cli/bin.mjs', 'erase', email, '--yes', '--json'], env)
  const pooled = connect(env.DATABASE_URL!, { connections: 1 })
  const lease = await takeLease(pooled, 'erasure')
  const refused = erase()
  expect(await refused.ended).not.toBe(0)
  expect(refused.stderr()).toContain('Another erasure is running')
  await lease!.free()
  await pooled.$client.end()
  expect(await erase().ended).toBe(0)
  const { entries } = await products[0]!.get(`/api/v1/suppression?email=${email}`)
  expect(entries).toMatchObject([{ email: expect.stringMatching(/^erased-/) }])
  const leases = await run<{ count: number }>(database.db, 'select count(*)::int as count from leases')
  expect(leases).toEqual([{ count: 0 }])
})

test('sends go on when the pooler is started again', async () => {
  await bouncer.restart()
  const status = async () => (await products[0]!.send({ to: 'delivered@simulator.test' })).status
  await expect.poll(status, { timeout: 10_000 }).toBe(200)
  expect(await products[1]!.get('/readyz')).toMatchObject({ status: 'ready' })
})
