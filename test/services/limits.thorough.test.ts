import { type Client, Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts'
import { LimitsService } from '../../gen/verdict/v1/limits_pb.ts'
import { createKey } from '../../server/access/api-keys.ts'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { eq, sql } from '../../server/db/drizzle.ts'
import { accounts, domains, hourlyStats, monthlyEmails, rateWindows, warmUps } from '../../server/db/schema.ts'
import { reasonOf } from '../../server/errors.ts'
import { simulatedId } from '../../server/reputation/simulated.ts'
import { startApi } from './api.ts'

const api = await startApi(undefined, {
  ...DEFAULT_LIMITS,
  tiers: { ...DEFAULT_LIMITS.tiers, small: { requestsPerMinute: 60, emailsPerMonth: 3_000 } },
  defaultTier: 'scale',
})

const get = (path: string, key?: string) => api.call('GET', path, { key })

/** Creates an account and a key that may not send. */
async function newAccount(tier: string): Promise<{ id: string; key: string }> {
  const { db, clock } = api.world
  const id = crypto.randomUUID()
  await db.insert(accounts).values({ id, name: tier, tier })
  const { key } = await createKey(db, clock, { accountId: id, name: 'a key', kind: 'live', scopes: ['events.read'] })
  return { id, key }
}

const month = () => new Date(api.world.clock.now()).toISOString().replace(/-\d\dT.*/, '-01')

test('every valid key can read the limits of its account, whatever its scopes', async () => {
  const { db, clock, account } = api.world
  const { key } = await createKey(db, clock, { accountId: account.id, name: 'none', kind: 'live', scopes: [] })
  const answer = await get('/api/v1/limits', key)
  expect(answer.status).toBe(200)
  expect(answer.json).toEqual({
    tier: 'scale',
    requests_per_minute: 6_000,
    sizes: {
      request_bytes: 15_728_640,
      html_bytes: 2_097_152,
      text_bytes: 2_097_152,
      attachments_bytes: 10_485_760,
      subject_characters: 998,
      header_value_characters: 998,
      tenant_id_characters: 128,
      metadata_bytes: 4_096,
      metadata_key_characters: 40,
      metadata_value_characters: 500,
      tag_characters: 100,
      filename_characters: 1_024,
    },
    counts: {
      recipients: 50,
      attachments: 10,
      headers: 50,
      batch_emails: 100,
      import_addresses: 10_000,
      reply_to: 10,
      metadata_pairs: 20,
    },
    domains: expect.any(Array),
    month: { from: month(), ends_at: expect.any(String), quota: null, used: 0, domains: [] },
  })
  expect((await get('/api/v1/limits', 'svc_live_wrong')).status).toBe(401)
})

test('the tier is that of the account', async () => {
  const { json } = await get('/api/v1/limits', (await newAccount('pro')).key)
  expect(json).toMatchObject({ tier: 'pro', requests_per_minute: 600, domains: [] })
})

test('a domain shows the volume of its day of warm-up, and none when it does not warm up', async () => {
  const { db } = api.world
  const { id: accountId, key } = await newAccount('pro')
  const today = sql<Date>`date_trunc('day', now(), 'UTC')`
  const volumes: [name: string, verifiedAt: ReturnType<typeof sql> | null, warmsUp: boolean][] = [
    ['after.example', sql`${today} - interval '5 days'`, true],
    ['exempt.example', today, false],
    ['fifth.example', sql`${today} - interval '3 days 1 ms'`, true],
    ['first.example', today, true],
    ['pending.example', null, true],
  ]
  for (const [name, verifiedAt, warmsUp] of volumes) {
    await db.insert(domains).values({
      id: crypto.randomUUID(),
      accountId,
      name,
      status: verifiedAt ? 'verified' : 'pending',
      verifiedAt,
      warmsUp,
    })
  }
  const warmedUp = { accountId, domain: 'first.example' }
  await db.insert(warmUps).values({ ...warmedUp, day: sql`(now() at time zone 'UTC')::date`, emails: 42 })
  await db.insert(warmUps).values({ ...warmedUp, day: sql`(now() at time zone 'UTC')::date - 1`, emails: 7 })
  const hours = { accountId, domain: 'after.example' }
  const counts = { delivered: 30, mailbox_full: 3, suppression_list: 100 }
  const yesterday = { delivered: 1_000 }
  await db.insert(hourlyStats).values([
    { ...hours, tenantId: '', hour: today, ...counts },
    { ...hours, tenantId: 'tenant', hour: today, ...counts },
    { ...hours, tenantId: '', hour: sql`${today} - interval '1 hour'`, ...yesterday },
  ])
  expect((await get('/api/v1/limits', key)).json.domains).toEqual([
    { domain: 'after.example', daily_limit: null, sent_today: 33 },
    { domain: 'exempt.example', daily_limit: null, sent_today: 0 },
    { domain: 'fifth.example', daily_limit: 10_000, sent_today: 0 },
    { domain: 'first.example', daily_limit: 500, sent_today: 42 },
    { domain: 'pending.example', daily_limit: null, sent_today: 0 },
  ])
})

test('the month shows what each domain has sent, mail to the simulator apart, and the quota with what counts for it', async () => {
  const { db } = api.world
  const [{ id, key }, small] = [await newAccount('pro'), await newAccount('small')]
  const thisMonth = sql<Date>`date_trunc('month', now(), 'UTC')`
  const row = { tenantId: '', hour: thisMonth }
  const ofMonth = (domain: string, counts: Record<string, number>, more = {}) => ({
    ...row,
    accountId: id,
    domain,
    ...counts,
    ...more,
  })
  const simulated = { accountId: simulatedId(id) }
  await db
    .insert(hourlyStats)
    .values([
      ofMonth('one.example', { delivered: 5, mailbox_full: 2, suppression_list: 9 }),
      ofMonth('two.example', { delivered: 40 }),
      ofMonth('two.example', { delivered: 40 }, { tenantId: 'tenant' }),
      ofMonth('two.example', { delivered: 1_000 }, { hour: sql`${thisMonth} - interval '1 hour'` }),
      ofMonth('one.example', { delivered: 3 }, simulated),
      ofMonth('three.example', { delivered: 1 }, simulated),
    ])
  const { json } = await get('/api/v1/limits', key)
  expect(json.month).toMatchObject({
    quota: null,
    used: 47,
    domains: [
      { domain: 'two.example', sent: 40, simulated: 0 },
      { domain: 'one.example', sent: 7, simulated: 3 },
      { domain: 'three.example', sent: 0, simulated: 1 },
    ],
  })
  expect(new Date(json.month.ends_at).getUTCDate()).toBe(1)
  const quotaOf = async () => (await get('/api/v1/limits', small.key)).json.month
  expect(await quotaOf()).toMatchObject({ quota: 3_000, used: 0 })
  await db.insert(monthlyEmails).values({ accountId: small.id, month: month(), emails: 2_500 })
  expect(await quotaOf()).toMatchObject({ quota: 3_000, used: 2_500 })
})

test('every 2xx of every endpoint has the three headers, integers, also in sandbox', async () => {
  const { json } = await api.send()
  for (const answer of [
    await api.send(),
    await api.send({}, { 'x-service-sandbox': 'true' }),
    await api.send({}, {}, api.keys.test),
    await api.send({ to: 'invalid_address@simulator.test' }),
    await get(`/api/v1/emails/${json.message_id}`),
    await get('/api/v1/events'),
    await get('/api/v1/limits'),
    await get('/api/v1/openapi.json'),
  ]) {
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ratelimit-limit')).toBe('6000')
    expect(answer.headers.get('x-ratelimit-remaining')).toMatch(/^59\d\d$/)
    const reset = Number(answer.headers.get('x-ratelimit-reset')) - api.world.clock.now() / 1_000
    expect(reset).toBeGreaterThan(0)
    expect(reset).toBeLessThan(62)
  }
})

test('health and pages have no limit; what the API serves without a key has the limit of the address', async () => {
  const limitOf = async (path: string, method = 'GET') => {
    const { ok, headers } = await fetch(api.url + path, { method })
    return [ok, headers.get('x-ratelimit-limit')]
  }
  for (const path of ['/healthz', '/readyz', '/docs']) expect(await limitOf(path)).toEqual([true, null])
  expect(await limitOf('/api/v1/openapi.json')).toEqual([true, '600'])
  expect(await limitOf('/api/v1/events', 'OPTIONS')).toEqual([true, '600'])
})

test('a request over the limit is 429 with retry_after and Retry-After, before its body is read', async () => {
  const { key } = await newAccount('free')
  for (let left = 59; left >= 0; left--) {
    // Refused requests count too.
    const { status, headers } = await get(left % 2 ? '/api/v1/limits' : '/api/v1/events?limit=0', key)
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([left % 2 ? 200 : 400, String(left)])
  }
  const { status, headers, json } = await api.call('POST', '/api/v1/emails/send', { key, body: 'no mail' })
  expect([status, json.error]).toEqual([429, 'rate_limit_exceeded'])
  expect(json.retry_after).toBeGreaterThan(40)
  expect(json.retry_after).toBeLessThanOrEqual(60)
  expect(headers.get('retry-after')).toBe(String(json.retry_after))
  expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['60', '0'])
  const wait = Number(headers.get('x-ratelimit-reset')) - api.world.clock.now() / 1_000
  expect(Math.abs(wait - json.retry_after)).toBeLessThan(3)
})

const TRANSPORTS: Record<string, (baseUrl: string) => Transport> = {
  'Connect, HTTP/1.1': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1' }),
  'Connect, HTTP/2': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2' }),
  'gRPC-Web, HTTP/1.1': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }),
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
}

test.for(Object.entries(TRANSPORTS))(
  '%s: the headers come as metadata, and the limit is the same',
  async ([, make]) => {
    const client: Client<typeof LimitsService> = createClient(LimitsService, make(api.url))
    const { id, key } = await newAccount('free')
    const authorization = `Bearer ${key}`
    const answered: Headers[] = []
    await client.getLimits({}, { headers: { authorization }, onHeader: (headers) => void answered.push(headers) })
    const header = answered[0]!
    expect([header.get('x-ratelimit-limit'), header.get('x-ratelimit-remaining')]).toEqual(['60', '59'])
    expect(header.get('x-ratelimit-reset')).toMatch(/^\d{10}$/)

    const { json } = await get('/api/v1/limits', key)
    expect(json.tier).toBe('free')
    await api.world.db.update(rateWindows).set({ used: 60 }).where(eq(rateWindows.caller, id))
    const error = await client
      .getLimits({}, { headers: { authorization } })
      .then(() => expect.fail(), ConnectError.from)
    expect([error.code, reasonOf(error)]).toEqual([Code.ResourceExhausted, 'rate_limit_exceeded'])
    const seconds = Number(error.findDetails(RetryInfoSchema)[0]!.retryDelay!.seconds)
    expect(seconds).toBeGreaterThan(40)
    expect(error.metadata.get('retry-after')).toBe(String(seconds))
    expect(error.metadata.get('x-ratelimit-remaining')).toBe('0')
  },
)
