import { randomBytes, randomUUID } from 'node:crypto'
import { Client, type ScheduleHandle } from '@temporalio/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DatabaseClock } from '../../server/db/clock.ts'
import { eq, sql } from '../../server/db/drizzle.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { domains } from '../../server/db/schema.ts'
import { createDomain, type Domain, findDomainById } from '../../server/domains/domains.ts'
import { TASK_QUEUES } from '../../workflows/client.ts'
import { lazyConnection } from '../../workflows/connection.ts'
import type { verification } from '../../workflows/verification.ts'
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
let schedule: ScheduleHandle
const key = randomBytes(32)
const sealer = createSealer([{ id: 'k1', key }])

beforeAll(async () => {
  database = await testAccount()
  ;({ clock, accountId } = database)
  ;[temporal, dns] = await Promise.all([startTemporal(), startDns()])
  connection = lazyConnection(temporalAt(temporal.address))
  client = new Client({ connection })
  worker = startWorker()
  schedule = client.schedule.getHandle('verification')
  const scheduleOrNone = () => schedule.describe().catch(() => undefined)
  await until(async () => (await scheduleOrNone()) !== undefined)
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
  database.db.update(domains).set({ nextCheckAt: sql`now() - interval '1 second'` }).where(eq(domains.id, id))

/**
 * Starts a check of the domains that are due. Await its result before another domain is added: a check that still runs
 * would find it before its zone is written.
 */
const startCheck = () =>
  client.workflow.start<typeof verification>('verification', {
    workflowId: `check-${randomUUID()}`,
    taskQueue: TASK_QUEUES.original,
  })
const check = async () => (await startCheck()).result()

test('a domain whose records are published is verified automatically when the Schedule runs', async () => {
  const [right, wrong] = [await add('right.example'), await add('wrong.example')]
  Object.assign(dns.zone, zoneOf(right))
  const runs = async () => (await schedule.describe()).info.recentActions
  const before = (await runs()).length
  await schedule.trigger()
  await until(async () => (await runs()).length > before)
  const { workflowId } = (await runs()).at(-1)!.action.workflow
  expect(await client.workflow.getHandle<typeof verification>(workflowId).result()).toEqual({ verified: 1, pending: 1 })
  expect((await read(right)).status).toBe('verified')
  expect(Object.values((await read(wrong)).checks!).map(({ status }) => status)).toEqual(Array(4).fill('failed'))
  expect((await read(wrong)).status).toBe('pending')
  await database.db.update(domains).set({ nextCheckAt: null }).where(eq(domains.id, wrong.id))
})

test('a domain whose records are missing for three days lapses, and is verified again when they are back', async () => {
  const domain = await add('lapses.example')
  Object.assign(dns.zone, zoneOf(domain))
  expect(await check()).toEqual({ verified: 1 })
  dns.zone['TXT rp.lapses.example'] = 'nxdomain'
  await makeDue(domain)
  expect(await check()).toEqual({ verified: 1 })
  expect((await read(domain)).failingSince).not.toBeNull()
  await database.db
    .update(domains)
    .set({ failingSince: sql`now() - interval '3 days'` })
    .where(eq(domains.id, domain.id))
  await makeDue(domain)
  expect(await check()).toEqual({ lapsed: 1 })
  await waitForOutput(worker, /"domain":"lapses\.example","msg":"a domain is lapsed"/)
  Object.assign(dns.zone, zoneOf(domain))
  await makeDue(domain)
  expect(await check()).toEqual({ verified: 1 })
})

test('when a worker dies during a check, the next worker makes the check', async () => {
  const domain = await add('silent.example')
  for (const name of Object.keys(zoneOf(domain))) dns.zone[name] = 'silence'
  const checking = await startCheck()
  await until(() => dns.count('TXT rp.silent.example') > 0)
  await worker.kill('SIGKILL')
  const { nextCheckAt, checks } = await read(domain)
  expect(checks).toBeNull()
  // A check that ended without a result is due again within a minute.
  expect(nextCheckAt!.getTime() - clock.now()).toBeLessThanOrEqual(60_000)

  Object.assign(dns.zone, zoneOf(domain))
  await makeDue(domain)
  worker = startWorker()
  await waitForOutput(worker, /"msg":"ready"/)
  await checking.result()
  expect((await read(domain)).status).toBe('verified')
})

test('SIGTERM ends a worker during checks within seconds', async () => {
  const domain = await add('slow.example')
  for (const name of Object.keys(zoneOf(domain))) dns.zone[name] = 'silence'
  await startCheck()
  await until(() => dns.count('TXT rp.slow.example') > 0)
  const watch = stopwatch()
  expect(await worker.kill('SIGTERM')).toBe(0)
  // All queries of a silent domain take longer.
  expect(watch.ms()).toBeLessThan(10_000)
  expect((await read(domain)).checks).toBeNull()
})
