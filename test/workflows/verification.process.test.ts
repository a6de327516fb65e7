import { randomBytes } from 'node:crypto'
import { Client, ScheduleOverlapPolicy } from '@temporalio/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DatabaseClock } from '../../server/db/clock.ts'
import { eq, sql } from '../../server/db/drizzle.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { domains } from '../../server/db/schema.ts'
import { createDomain, type Domain, findDomainById } from '../../server/domains/domains.ts'
import { lazyConnection } from '../../workflows/connection.ts'
import { HOSTS, zoneOf } from '../domains/verifying.ts'
import { type TestAccount, testAccount } from '../harness/account.ts'
import { type DnsServerForTests, startDns } from '../harness/dns.ts'
import { type RunningProcess, startProgram, waitForOutput } from '../harness/process.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { startTemporal, type TestTemporal } from '../harness/temporal.ts'
import { temporalAt, until } from './world.ts'

// The Schedule, its workflow and `npm run worker` as a separate process, with a real Temporal and a DNS server in this
// process.

let database: TestAccount
let temporal: TestTemporal
let dns: DnsServerForTests
let clock: DatabaseClock
let accountId: string
let worker: RunningProcess
let connection: ReturnType<typeof lazyConnection>
let client: Client
const key = randomBytes(32)
const sealer = createSealer([{ id: 'k1', key }])

beforeAll(async () => {
  database = await testAccount()
  ;({ clock, accountId } = database)
  ;[temporal, dns] = await Promise.all([startTemporal(), startDns()])
  connection = lazyConnection(temporalAt(temporal.address))
  client = new Client({ connection })
  worker = startWorker()
  const schedule = client.schedule.getHandle('verification')
  const scheduleOrNone = () => schedule.describe().catch(() => undefined)
  await until(async () => (await scheduleOrNone()) !== undefined, 20_000)
  // Between the moment a test adds a domain and the moment its zone is written, no full minute may start a check.
  await schedule.pause()
  await until(async () => (await scheduleOrNone())?.info.runningActions.length === 0)
})
afterAll(async () => {
  await worker?.kill('SIGKILL')
  await connection?.close()
  await temporal?.stop()
  await dns?.close()
  await database?.drop()
})

function startWorker(): RunningProcess {
  return startProgram(process.execPath, ['workflows/worker.ts'], {
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: `k1:${key.toString('base64')}`,
    TEMPORAL_ADDRESS: temporal.address,
    DNS_SERVERS: dns.address,
    SMTP_SOURCE_ADDRESSES: HOSTS.sourceAddresses.join(','),
    SMTP_HELO_NAME: HOSTS.bounceHost,
  })
}

const add = (name: string) => createDomain({ db: database.db, sealer, clock }, { accountId, name, status: 'pending' })
const read = async ({ id }: Domain) => (await findDomainById(database.db, id))!
const makeDue = ({ id }: Domain) =>
  database.db.update(domains).set({ nextCheckAt: sql`now()` }).where(eq(domains.id, id))

/**
 * Triggers the Schedule, which is paused. Its own policy would skip the run while the workflow of the run before, whose
 * result the test has read from the database, is not closed yet.
 */
const trigger = () => client.schedule.getHandle('verification').trigger(ScheduleOverlapPolicy.BUFFER_ALL)

test('a domain whose records are published is verified automatically when the Schedule runs', async () => {
  const [right, wrong] = [await add('right.example'), await add('wrong.example')]
  Object.assign(dns.zone, zoneOf(right))
  await trigger()
  await until(async () => (await read(right)).status === 'verified' && (await read(wrong)).checks !== null)
  expect(Object.values((await read(wrong)).checks!).map(({ status }) => status)).toEqual(Array(4).fill('failed'))
  expect((await read(wrong)).status).toBe('pending')
})

test('a domain whose records are missing for three days lapses, and is verified again when they are back', async () => {
  const domain = await add('lapses.example')
  Object.assign(dns.zone, zoneOf(domain))
  await trigger()
  await until(async () => (await read(domain)).status === 'verified')
  dns.zone['TXT rp.lapses.example'] = 'nxdomain'
  await makeDue(domain)
  await trigger()
  await until(async () => (await read(domain)).failingSince !== null)
  expect((await read(domain)).status).toBe('verified')
  await database.db
    .update(domains)
    .set({ failingSince: sql`now() - interval '3 days'` })
    .where(eq(domains.id, domain.id))
  await makeDue(domain)
  await trigger()
  await until(async () => (await read(domain)).status === 'lapsed')
  await waitForOutput(worker, /"domain":"lapses\.example","msg":"a domain is lapsed"/)
  Object.assign(dns.zone, zoneOf(domain))
  await makeDue(domain)
  await trigger()
  await until(async () => (await read(domain)).status === 'verified')
})

test('when a worker dies during a check, the next worker makes the check', async () => {
  const domain = await add('silent.example')
  for (const name of Object.keys(zoneOf(domain))) dns.zone[name] = 'silence'
  await trigger()
  await until(() => dns.count('TXT rp.silent.example') > 0)
  await worker.kill('SIGKILL')
  const { nextCheckAt, checks } = await read(domain)
  expect(checks).toBeNull()
  expect(nextCheckAt!.getTime() - clock.now()).toBeLessThanOrEqual(60_000)

  Object.assign(dns.zone, zoneOf(domain))
  await makeDue(domain)
  worker = startWorker()
  await waitForOutput(worker, /"msg":"ready"/)
  await until(async () => (await read(domain)).status === 'verified', 50_000)
})

test('SIGTERM ends a worker during checks within seconds', async () => {
  const domain = await add('slow.example')
  for (const name of Object.keys(zoneOf(domain))) dns.zone[name] = 'silence'
  await trigger()
  await until(() => dns.count('TXT rp.slow.example') > 0)
  const watch = stopwatch()
  expect(await worker.kill('SIGTERM')).toBe(0)
  expect(watch.ms()).toBeLessThan(10_000)
  expect((await read(domain)).checks).toBeNull()
})
