import { randomBytes, randomUUID } from 'node:crypto'
import { Client } from '@temporalio/client'
import { beforeAll, expect, test, vi } from 'vitest'
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
import { atEnd, untilEnd } from '../harness/until-end.ts'
import { quietFor } from '../harness/waits.ts'
import { temporalAt, until } from './world.ts'

// The look for due domains, its workflow and `npm run worker` as a separate process, with a real Temporal and a DNS
// server in this process.

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
  ;[temporal, dns] = await Promise.all([startTemporal().then(untilEnd), startDns().then(untilEnd)])
  connection = untilEnd(lazyConnection(temporalAt(temporal.address)))
  client = new Client({ connection })
  worker = startWorker()
  atEnd(() => worker.kill('SIGKILL'))
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

/** Adds a domain whose check is not due: the worker looks for due ones every 15 s. */
async function add(name: string): Promise<Domain> {
  const domain = await createDomain({ db: database.db, sealer, clock }, { accountId, name, status: 'pending' })
  await database.db.update(domains).set({ nextCheckAt: null }).where(eq(domains.id, domain.id))
  return domain
}
const read = async ({ id }: Domain) => (await findDomainById(database.db, id))!
const makeDue = ({ id }: Domain) =>
  database.db.update(domains).set({ nextCheckAt: sql`now() - interval '1 second'` }).where(eq(domains.id, id))

const startCheck = () =>
  client.workflow.start<typeof verification>('verification', {
    workflowId: `check-${randomUUID()}`,
    taskQueue: TASK_QUEUES.original,
  })
/** Makes the check of a domain, or the worker makes it a moment earlier. */
async function check(domain: Domain): Promise<Domain> {
  await makeDue(domain)
  await (await startCheck()).result()
  await until(async () => !isDue(await read(domain)))
  return read(domain)
}
const isDue = ({ nextCheckAt, checkedAt }: Domain) => nextCheckAt !== null && nextCheckAt < checkedAt!

/** The checks that the worker started. */
async function ownChecks(): Promise<string[]> {
  const found: string[] = []
  for await (const { workflowId } of client.workflow.list({ query: "WorkflowType = 'verification'" }))
    if (workflowId === 'verification') found.push(workflowId)
  return found
}

test('a worker checks due domains by itself, and starts no workflow while none is due', async () => {
  await waitForOutput(worker, /"msg":"ready"/)
  await quietFor(17_000)
  expect(await ownChecks()).toEqual([])
  const [right, wrong] = [await add('right.example'), await add('wrong.example')]
  Object.assign(dns.zone, zoneOf(right))
  await Promise.all([makeDue(right), makeDue(wrong)])
  await vi.waitFor(async () => expect((await read(right)).status).toBe('verified'), { timeout: 20_000, interval: 200 })
  await until(async () => (await read(wrong)).checks !== null)
  expect(Object.values((await read(wrong)).checks!).map(({ status }) => status)).toEqual(Array(4).fill('failed'))
  expect((await read(wrong)).status).toBe('pending')
  expect(await ownChecks()).toHaveLength(1)
  await database.db.update(domains).set({ nextCheckAt: null }).where(eq(domains.id, wrong.id))
})

test('a domain whose records are missing for three days lapses, and is verified again when they are back', async () => {
  const domain = await add('lapses.example')
  Object.assign(dns.zone, zoneOf(domain))
  expect(await check(domain)).toMatchObject({ status: 'verified', failingSince: null })
  dns.zone['TXT rp.lapses.example'] = 'nxdomain'
  const failing = await check(domain)
  expect(failing.status).toBe('verified')
  expect(failing.failingSince).not.toBeNull()
  await database.db
    .update(domains)
    .set({ failingSince: sql`now() - interval '3 days'` })
    .where(eq(domains.id, domain.id))
  expect((await check(domain)).status).toBe('lapsed')
  await waitForOutput(worker, /"domain":"lapses\.example","msg":"a domain is lapsed"/)
  Object.assign(dns.zone, zoneOf(domain))
  expect((await check(domain)).status).toBe('verified')
})

test('when a worker dies during a check, the next worker makes the check', async () => {
  const domain = await add('silent.example')
  for (const name of Object.keys(zoneOf(domain))) dns.zone[name] = 'silence'
  await makeDue(domain)
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
  await makeDue(domain)
  await startCheck()
  await until(() => dns.count('TXT rp.slow.example') > 0)
  const watch = stopwatch()
  expect(await worker.kill('SIGTERM')).toBe(0)
  // All queries of a silent domain take longer.
  expect(watch.ms()).toBeLessThan(10_000)
  expect((await read(domain)).checks).toBeNull()
})
