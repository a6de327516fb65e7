import { randomBytes } from 'node:crypto'
import { timestampDate, timestampFromDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import { createServiceImplSpec } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { OverviewService } from '../../gen/verdict/admin/v1/overview_pb.ts'
import { Granularity, SendingState } from '../../gen/verdict/v1/stats_pb.ts'
import { createKey, revokeKey } from '../../server/access/api-keys.ts'
import { createOverviewService } from '../../server/admin/overview.ts'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { readOn } from '../../server/db/replicas.ts'
import { hourlyStats, messages, openDispatches, webhookHours } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { createBreaker } from '../../server/reputation/breaker.ts'
import { simulatedId } from '../../server/reputation/simulated.ts'
import { type EndpointWithSecret, putFirst } from '../../server/webhooks/endpoints/change-endpoints.ts'
import { testAccount } from '../harness/account.ts'
import { faultsOf, startDashboard } from '../harness/person.ts'
import { HOSTS } from '../services/api.ts'

const HOUR_MS = 3_600_000

/** The time of the service's clock, where statistics still have hours; undefined for the database's clock. */
let nowMs: number | undefined = Date.parse('2020-11-18T12:00:00Z')
const sealer = createSealer([{ id: 'k1', key: randomBytes(32) }])
const account = await testAccount()
const breaker = createBreaker({ db: account.db, limits: DEFAULT_LIMITS })
const clock = { ...account.clock, now: () => nowMs ?? account.clock.now() }
const service = createOverviewService({
  ...account,
  read: readOn(account.db),
  clock,
  breaker,
  limits: DEFAULT_LIMITS,
  hosts: HOSTS,
})
const dashboard = await startDashboard({
  ...account,
  services: [createServiceImplSpec<typeof OverviewService>(OverviewService, service)],
})

const overviewOf = async (accountId: string) =>
  (await dashboard.person({ accountId, role: 'reader' })).client(OverviewService)
const overview = await overviewOf(account.accountId)

/** A new account, with its overview. */
async function another() {
  const { id } = await createAccount(account.db, account.clock, 'Another')
  return { id, overview: await overviewOf(id) }
}

const at = (time: string) => timestampFromDate(new Date(time))

/** Inserts a row of statistics, as the commit of an outcome does. */
async function count(
  hour: string | Date,
  counts: Record<string, number>,
  of: { accountId?: string; domain?: string; tenantId?: string } = {},
) {
  const { accountId = account.accountId, domain = 'example.test', tenantId = '' } = of
  await account.db.insert(hourlyStats).values({ accountId, tenantId, hour: new Date(hour), domain, ...counts })
}

test('every period has its outcomes, reasons and latencies, and those without email are there', async () => {
  await count('2020-11-18T10:00Z', {
    delivered: 90,
    mailbox_full: 6,
    suppression_list: 3,
    complaints: 2,
    latency_5: 96,
  })
  await count('2020-11-18T10:00Z', { delivered: 10, latency_6: 10 }, { domain: 'other.test' })
  await count('2020-11-18T10:00Z', { delivered: 7 }, { tenantId: 'shop-1' })
  await count('2020-11-18T12:00Z', { connection_timeout: 5, in_doubt: 3, latency_24: 5 })
  await count('2020-11-18T13:00Z', { delivered: 1_000 })
  const { id: stranger } = await another()
  await count('2020-11-18T10:00Z', { delivered: 1_000 }, { accountId: stranger })
  const answer = await overview.getOverview({
    from: at('2020-11-18T10:20:00Z'),
    to: at('2020-11-18T12:20:00Z'),
    granularity: Granularity.HOUR,
  })
  expect(answer.periods.map(({ period }) => timestampDate(period!).toISOString())).toEqual([
    '2020-11-18T10:00:00.000Z',
    '2020-11-18T11:00:00.000Z',
    '2020-11-18T12:00:00.000Z',
  ])
  expect(answer.periods).toMatchObject([
    {
      delivered: 100,
      bounced: 6,
      rejected: 3,
      inDoubt: 0,
      complaints: 2,
      reasons: { mailbox_full: 6, suppression_list: 3 },
      latencyMs: { p50: 26, p95: 38, p99: 44 },
    },
    { delivered: 0, bounced: 0, rejected: 0, inDoubt: 0, complaints: 0, reasons: {} },
    { delivered: 0, bounced: 2, rejected: 0, inDoubt: 3, reasons: { connection_timeout: 2 } },
  ])
  expect(answer.periods[1]!.latencyMs!.p50).toBeUndefined()
  expect(answer.inDoubt).toBe(3)
  // 96 of 111 took 20 to 30 ms, 10 took 30 to 46 ms, 5 took longer than is measured.
  expect(answer.latencyMs).toMatchObject({ p50: 26, p95: 45 })
})

test('days begin at midnight UTC and hold all of their hours', async () => {
  const { id, overview } = await another()
  await count('2020-11-17T00:00Z', { delivered: 1 }, { accountId: id })
  await count('2020-11-17T23:00Z', { delivered: 2 }, { accountId: id })
  await count('2020-11-18T00:00Z', { delivered: 4 }, { accountId: id })
  const answer = await overview.getOverview({
    from: at('2020-11-16T12:00:00Z'),
    to: at('2020-11-17T12:00:00Z'),
    granularity: Granularity.DAY,
  })
  expect(answer.periods.map(({ delivered }) => delivered)).toEqual([0, 3])
})

test('the attempts of the webhook are counted by the period', async () => {
  const { id: accountId, overview } = await another()
  const hours = [
    { hour: new Date('2020-11-18T10:00Z'), acknowledged: 7, failed: 2 },
    { hour: new Date('2020-11-18T12:00Z'), acknowledged: 1, failed: 0 },
    { hour: new Date('2020-11-18T13:00Z'), acknowledged: 100, failed: 100 },
  ]
  await account.db.insert(webhookHours).values(hours.map((hour) => ({ accountId, endpointId: accountId, ...hour })))
  const { periods, endpoints } = await overview.getOverview({
    from: at('2020-11-18T10:00:00Z'),
    to: at('2020-11-18T13:00:00Z'),
    granularity: Granularity.HOUR,
  })
  expect(periods.map(({ acknowledged, notAcknowledged }) => [acknowledged, notAcknowledged])).toEqual([
    [7, 2],
    [0, 0],
    [1, 0],
  ])
  expect(endpoints).toEqual([])
})

test('the chart of rates shows what the breaker of the worst domain read: 24 hours, and nothing below its minimum', async () => {
  const { id: accountId, overview } = await another()
  const start = Date.parse('2020-11-16T00:00:00Z')
  const domains = ['big.test', 'small.test', 'quiet.test']
  const counts = (domain: string, hour: number) => ({
    delivered: domain === 'big.test' ? 20 + (hour % 7) : domain === 'small.test' && hour % 9 === 0 ? 50 : 0,
    mailbox_does_not_exist: domain === 'big.test' && hour > 30 && hour < 36 ? 9 : domain === 'quiet.test' ? 1 : 0,
    complaints: hour === 45 && domain === 'small.test' ? 4 : 0,
  })
  const hours = Array.from({ length: 60 }, (_, hour) => hour)
  for (const hour of hours) {
    for (const domain of domains) {
      const of = { accountId, domain }
      const given = counts(domain, hour)
      if (given.delivered + given.mailbox_does_not_exist > 0) await count(new Date(start + hour * HOUR_MS), given, of)
    }
  }
  const { minEmails } = DEFAULT_LIMITS.breaker
  /** The worst rate at an hour: of the domains that sent in it, over this hour and the 23 before. */
  const worst = (hour: number, name: 'mailbox_does_not_exist' | 'complaints') => {
    const rates = domains.flatMap((domain) => {
      const now = counts(domain, hour)
      if (now.delivered + now.mailbox_does_not_exist === 0) return []
      const day = hours.slice(Math.max(0, hour - 23), hour + 1).map((hour) => counts(domain, hour))
      const sent = day.reduce(
        (sum, { delivered, mailbox_does_not_exist }) => sum + delivered + mailbox_does_not_exist,
        0,
      )
      return sent >= minEmails ? [day.reduce((sum, given) => sum + given[name], 0) / sent] : []
    })
    return rates.length === 0 ? undefined : Math.max(...rates)
  }
  const asked = { from: timestampFromMs(start + 24 * HOUR_MS), to: timestampFromMs(start + 60 * HOUR_MS) }
  const { periods } = await overview.getOverview({ ...asked, granularity: Granularity.HOUR })
  expect(periods).toHaveLength(36)
  for (const [i, { worstBounceRate, worstComplaintRate }] of periods.entries()) {
    expect([i, worstBounceRate]).toEqual([i, worst(24 + i, 'mailbox_does_not_exist')])
    expect([i, worstComplaintRate]).toEqual([i, worst(24 + i, 'complaints')])
  }
  const days = await overview.getOverview({ ...asked, granularity: Granularity.DAY })
  const firstDay = periods.slice(0, 24).map(({ worstBounceRate }) => worstBounceRate ?? 0)
  expect(days.periods[0]!.worstBounceRate).toBe(Math.max(...firstDay))
  const minutes = await overview.getOverview({
    from: timestampFromMs(start + 34.5 * HOUR_MS),
    to: timestampFromMs(start + 35.5 * HOUR_MS),
    granularity: Granularity.MINUTE,
  })
  const ofHours = [10, 11].flatMap((i) => Array(30).fill(periods[i]!.worstBounceRate))
  expect(minutes.periods.map(({ worstBounceRate }) => worstBounceRate)).toEqual(ofHours)
})

test('the rates of each domain are those that its circuit breaker evaluates, beside its thresholds', async () => {
  const { id: accountId, overview } = await another()
  const { db, clock } = account
  for (const name of ['b.test', 'a.test']) {
    await createDomain({ db, sealer, clock }, { accountId, name, status: 'pending' })
  }
  const now = clock.now()
  const thisHour = new Date(now - (now % HOUR_MS))
  await count(
    thisHour,
    { delivered: 180, mailbox_does_not_exist: 10, late_bounces: 10, suppression_list: 50 },
    {
      accountId,
      domain: 'b.test',
    },
  )
  await count(new Date(thisHour.getTime() - 30 * HOUR_MS), { delivered: 1_000 }, { accountId, domain: 'b.test' })
  const { domains, thresholds } = await overview.getOverview({
    from: at('2020-11-18T10:00:00Z'),
    to: at('2020-11-18T11:00:00Z'),
    granularity: Granularity.HOUR,
  })
  expect(domains).toMatchObject([
    { domain: 'a.test', sending: SendingState.ACTIVE, emails: 0, bounceRate: 0, complaintRate: 0 },
    { domain: 'b.test', sending: SendingState.PAUSED, emails: 190, bounceRate: 20 / 190, complaintRate: 0 },
  ])
  expect(thresholds).toMatchObject({
    minEmails: 100,
    bounceWarn: 0.05,
    bounceOpen: 0.1,
    complaintWarn: 0.001,
    complaintOpen: 0.005,
  })
})

async function endpointOf(parts: Parameters<typeof putFirst>[0], accountId: string): Promise<string> {
  const put = (await putFirst(parts, accountId, { url: 'https://hooks.example.com/' })) as EndpointWithSecret
  return put.endpoint.id
}

test('an endpoint shows what waits for it and how it has responded', async () => {
  const { id: accountId, overview } = await another()
  const { db, clock } = account
  const range = { from: at('2020-11-18T10:00:00Z'), to: at('2020-11-18T11:00:00Z'), granularity: Granularity.HOUR }
  const endpointId = await endpointOf({ db, sealer }, accountId)
  const quiet = (await overview.getOverview(range)).endpoints[0]
  expect(quiet).toMatchObject({ url: 'https://hooks.example.com/', waiting: 0, failedSince: 0 })
  expect(quiet!.oldestWaiting).toBeUndefined()
  expect(quiet!.lastAcknowledgedAt).toBeUndefined()

  const [acknowledgedAt, failedAt] = [new Date('2020-11-18T10:00:01Z'), new Date('2020-11-18T10:00:02Z')]
  const hour = { hour: new Date('2020-11-18T10:00Z'), acknowledged: 1, failed: 3, failedSince: 2 }
  await db
    .insert(webhookHours)
    .values({ accountId, endpointId, ...hour, lastAcknowledgedAt: acknowledgedAt, lastFailedAt: failedAt })
  const oldest = new Date('2020-11-18T09:00:00Z')
  for (const createdAt of [oldest, new Date('2020-11-18T10:00:00Z')]) {
    const ids = { id: newId(clock.now()), eventId: newId(clock.now()), messageId: newId(clock.now()) }
    await db
      .insert(openDispatches)
      .values({ ...ids, accountId, endpointId, createdAt, kind: 'original', dueAt: createdAt, deadlineAt: createdAt })
  }
  const { endpoints } = await overview.getOverview(range)
  expect(endpoints[0]).toMatchObject({
    waiting: 2,
    oldestWaiting: timestampFromDate(oldest),
    lastAcknowledgedAt: timestampFromDate(acknowledgedAt),
    lastFailedAt: timestampFromDate(failedAt),
    failedSince: 2,
  })
})

const COUNT_MINUTES = `
  insert into minute_stats (account_id, tenant_id, minute, domain, delivered, mailbox_full, connection_timeout, in_doubt,
    latency_3)
  select $1::uuid, tenant, date_trunc('minute', now()) - interval '2 minutes', 'example.test', 5, 2, 1, 1, 8
  from (values (''), ('shop')) as t(tenant), generate_series(1, 2)`
const COUNT_OPEN = `
  insert into open_stats (account_id, minute, tenant_id, domain, recipient_domain, provider, tag, status, reason, in_doubt,
    bucket)
  select $1::uuid, date_trunc('minute', now()) - interval '1 minute', 'shop', 'example.test', 'a.test', '', '', 'delivered',
    null, false, 3 from generate_series(1, 3)`

test('minutes count what is added up and what is not yet, and the emails of a tenant once', async () => {
  const { id, overview } = await another()
  await run(account.db, COUNT_MINUTES, [id])
  await run(account.db, COUNT_OPEN, [id])
  const minute = Math.floor(Date.now() / 60_000) * 60_000
  const { periods } = await overview.getOverview({
    from: timestampFromMs(minute - 10 * 60_000),
    to: timestampFromMs(minute + 60_000),
    granularity: Granularity.MINUTE,
  })
  expect(periods).toHaveLength(11)
  const sum = (count: (period: (typeof periods)[number]) => number) =>
    periods.reduce((all, each) => all + count(each), 0)
  expect(sum(({ delivered }) => delivered)).toBe(13)
  expect(sum(({ bounced }) => bounced)).toBe(4)
  expect(sum(({ inDoubt }) => inDoubt)).toBe(2)
})

test.each([
  ['no from', { from: undefined }, 'from', 'is required'],
  ['no to', { to: undefined }, 'to', 'is required'],
  ['a to before from', { to: at('2020-11-17T10:00:00Z') }, 'from', /^is after to, which is 2020-11-17/],
  ['no granularity', { granularity: Granularity.UNSPECIFIED }, 'granularity', '0 is not a known value'],
  ['one period for all', { granularity: Granularity.TOTAL }, 'granularity', 'must be minute, hour or day'],
  ['an unknown granularity', { granularity: 99 as Granularity }, 'granularity', '99 is not a known value'],
  ['too many periods', { to: at('2022-01-01T00:00:00Z') }, 'granularity', /^gives 9818 periods, and the most is 8784/],
])('refused: %s', async (_, change, field, message) => {
  const range = { from: at('2020-11-17T22:00:00Z'), to: at('2020-11-18T00:00:00Z'), granularity: Granularity.HOUR }
  const { reason, fields } = await faultsOf(overview.getOverview({ ...range, ...change }))
  expect(reason).toBe('invalid_payload')
  expect(fields).toEqual([{ field, message: typeof message === 'string' ? message : expect.stringMatching(message) }])
})

test('a new account has all steps of the set-up before it, and each is seen when it is done', async () => {
  nowMs = undefined
  const { id: accountId, overview } = await another()
  const { db, clock } = account
  expect(await overview.getSetUp({})).toMatchObject({ hasKey: false })
  expect(Object.keys(await overview.getSetUp({}))).not.toContain('verifiedDomain')

  const domain = { accountId, name: `${accountId.slice(-12)}.test` }
  await createDomain({ db, sealer, clock }, { ...domain, status: 'pending' })
  const newKey = { accountId, name: 'x', scopes: ['emails.send'] } as const
  await createKey(db, clock, { ...newKey, kind: 'test' })
  await createKey(db, clock, { ...newKey, kind: 'live', expiresAt: new Date(clock.now() - 1_000) })
  const revoked = await createKey(db, clock, { ...newKey, kind: 'live' })
  await revokeKey(db, accountId, revoked.apiKey.id)
  const before = await overview.getSetUp({})
  expect(before).toMatchObject({ hasKey: false })
  expect(before.verifiedDomain ?? before.firstMessageId ?? before.webhookUrl).toBeUndefined()

  await createDomain({ db, sealer, clock }, { ...domain, status: 'verified' })
  await createKey(db, clock, { ...newKey, kind: 'live' })
  await putFirst({ db, sealer }, accountId, { url: 'https://hooks.example.com/' })
  const [first, second] = [newId(clock.now()), newId(clock.now() + 1)]
  for (const id of [second, first]) await insertMessage(accountId, id)
  expect(await overview.getSetUp({})).toMatchObject({
    verifiedDomain: domain.name,
    hasKey: true,
    firstMessageId: publicId('msg', first),
    webhookUrl: 'https://hooks.example.com/',
  })
})

async function insertMessage(accountId: string, id: string) {
  const now = new Date(account.clock.now())
  const request = { from: 'a@example.test', to: ['b@example.test'], subject: '', headers: [], attachments: [] }
  const outcome = { status: 'delivered', sandbox: false, region: 'eu', sizeBytes: 1 } as const
  await account.db.insert(messages).values({ id, accountId, ...outcome, createdAt: now, completedAt: now, request })
}

test('emails to the simulator are shown apart from all others', async () => {
  nowMs = Date.parse('2020-11-18T12:00:00Z')
  const { id, overview } = await another()
  const hour = new Date('2020-11-18T11:00:00Z')
  const count = (accountId: string, counts: Record<string, number>) =>
    account.db.insert(hourlyStats).values({ accountId, tenantId: '', hour, domain: 'example.test', ...counts })
  await count(id, { delivered: 7 })
  await count(simulatedId(id), { delivered: 2, mailbox_full: 1 })
  const range = { from: timestampFromDate(hour), to: timestampFromMs(hour.getTime() + HOUR_MS) }
  const request = { ...range, granularity: Granularity.HOUR }
  const live = await overview.getOverview(request)
  expect(live.periods).toMatchObject([{ delivered: 7, bounced: 0 }])
  const simulated = await overview.getOverview({ ...request, simulated: true })
  expect(simulated.periods).toMatchObject([{ delivered: 2, bounced: 1, reasons: { mailbox_full: 1 } }])
})
