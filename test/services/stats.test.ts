import { expect, test } from 'vitest'
import { hourlyStats } from '../../server/db/schema.ts'
import { OTHER_TENANTS } from '../../server/reputation/counts.ts'
import { startApi } from './api.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** This API's clock: a Wednesday, shortly after noon. */
const NOW = Date.parse('2020-11-18T12:34:56.789Z')
const EXAMPLE = 'example.test'

const api = await startApi(() => NOW)
await count('2020-11-18T12:00Z', { delivered: 90, mailbox_full: 6, no_mx_record: 4, latency_5: 50, latency_6: 50 })
await count('2020-11-18T11:00Z', { delivered: 10, suppression_list: 3, latency_5: 10 })
await count('2020-11-12T00:00Z', {
  delivered: 7,
  invalid_address: 2,
  domain_not_verified: 1,
  complaints: 1,
  late_bounces: 2,
})
await count('2020-11-11T23:00Z', { delivered: 1_000 })
await count('2020-11-18T12:00Z', { delivered: 5 }, { domain: 'other.test' })
await count('2020-11-18T12:00Z', { delivered: 2, policy_block: 1 }, { tenantId: 'shop-1' })
await count('2024-03-01T00:00Z', { delivered: 4 })

/** Inserts a row of statistics, as the commit of an outcome does. */
async function count(hour: string, counts: Record<string, number>, of: { domain?: string; tenantId?: string } = {}) {
  const { domain = EXAMPLE, tenantId = '' } = of
  const key = { accountId: api.world.account.id, tenantId, hour: new Date(hour), domain }
  await api.world.db.insert(hourlyStats).values({ ...key, ...counts })
}

const stats = async (query = '', key?: string) => api.call('GET', `/api/v1/stats?${query}`, { key })

test('the default is the last 7 days by day', async () => {
  const { status, json } = await stats()
  expect(status).toBe(200)
  expect(json).toEqual({
    from: '2020-11-12T00:00:00.000Z',
    to: '2020-11-19T00:00:00.000Z',
    granularity: 'day',
    totals: {
      sent: 122,
      delivered: 112,
      bounced: 10,
      rejected: 6,
      complaints: 1,
      late_bounces: 2,
      delivery_rate: 112 / 122,
      bounce_rate: 10 / 122,
      complaint_rate: 1 / 122,
    },
    reasons: {
      mailbox_full: 6,
      mailbox_does_not_exist: 0,
      no_mx_record: 4,
      connection_timeout: 0,
      policy_block: 0,
      spam_blocked: 0,
      temporary_failure: 0,
      suppression_list: 3,
      invalid_address: 2,
      domain_not_verified: 1,
    },
    // 60 of 110 took 20 to 30 ms, 50 took 30 to 46 ms.
    latency_ms: { p50: 29, p95: 44, p99: 46 },
    series: [
      { period: '2020-11-12T00:00:00.000Z', sent: 7, delivered: 7, bounced: 0, rejected: 3 },
      ...[13, 14, 15, 16, 17].map((day) => ({
        period: `2020-11-${day}T00:00:00.000Z`,
        sent: 0,
        delivered: 0,
        bounced: 0,
        rejected: 0,
      })),
      { period: '2020-11-18T00:00:00.000Z', sent: 115, delivered: 105, bounced: 10, rejected: 3 },
    ],
    domains: [
      { domain: EXAMPLE, sending: 'active' },
      { domain: 'pending.test', sending: 'active' },
    ],
    groups: [],
  })
})

test('statistics by the hour include from and exclude to', async () => {
  const { json } = await stats('from=2020-11-18T11:00:00Z&to=2020-11-18T12:00:00Z&granularity=hour')
  expect(json.series).toEqual([
    { period: '2020-11-18T11:00:00.000Z', sent: 10, delivered: 10, bounced: 0, rejected: 3 },
  ])
  expect(json.totals.sent).toBe(10)
})

test('statistics in total have one period', async () => {
  const { json } = await stats('from=2020-11-11&to=2020-11-19&granularity=total')
  expect(json.series).toEqual([
    { period: '2020-11-11T00:00:00.000Z', sent: 1_122, delivered: 1_112, bounced: 10, rejected: 6 },
  ])
})

test('the filter by domain ignores case', async () => {
  const { json } = await stats('domain=Other.Test.&granularity=total')
  expect(json.totals).toMatchObject({ sent: 5, delivered: 5 })
  expect(json.domains).toEqual([])
})

test('the filter by tenant counts that tenant alone', async () => {
  const { json } = await stats('tenant_id=shop-1&granularity=total')
  expect(json.totals).toMatchObject({ sent: 3, delivered: 2, bounced: 1, bounce_rate: 1 / 3 })
  expect(json.reasons).toMatchObject({ policy_block: 1, mailbox_full: 0 })
})

test('the response says when an hour may have counted the tenant together with others', async () => {
  await count('2020-11-05T12:00Z', { delivered: 8 }, { tenantId: OTHER_TENANTS })
  await count('2020-11-05T12:00Z', { delivered: 3 }, { tenantId: 'busy' })
  const day = 'from=2020-11-05&to=2020-11-06'
  expect((await stats(`${day}&tenant_id=busy`)).json).toMatchObject({ totals: { delivered: 3 }, incomplete: true })
  expect((await stats(`${day}&tenant_id=quiet`)).json).toMatchObject({ totals: { delivered: 0 }, incomplete: true })
  expect((await stats('from=2020-11-06&to=2020-11-07&tenant_id=busy')).json).not.toHaveProperty('incomplete')
  expect((await stats(day)).json).not.toHaveProperty('incomplete')
  expect((await stats(`${day}&tenant_id=%09`)).status).toBe(400)
})

test.each(['domain=unknown.test', 'tenant_id=unknown', 'domain=other.test&tenant_id=shop-1'])(
  'an unknown domain or tenant has zeros, null rates and null percentiles: %s',
  async (query) => {
    const { status, json } = await stats(query)
    expect(status).toBe(200)
    expect(json.totals).toEqual({
      sent: 0,
      delivered: 0,
      bounced: 0,
      rejected: 0,
      complaints: 0,
      late_bounces: 0,
      delivery_rate: null,
      bounce_rate: null,
      complaint_rate: null,
    })
    expect(Object.values(json.reasons)).toEqual(Array(10).fill(0))
    expect(json.latency_ms).toEqual({ p50: null, p95: null, p99: null })
    expect(json.series).toHaveLength(7)
  },
)

test('another account sees none of these counts', async () => {
  const { json } = await stats('', api.keys.stranger)
  expect(json.totals.sent).toBe(0)
  expect(json.domains).toEqual([])
})

test.each([
  ['granularity=hour&from=2020-11-18T11:59:59.999Z', '2020-11-18T11:00:00.000Z', '2020-11-18T13:00:00.000Z'],
  ['granularity=total&from=2020-11-18&to=2020-11-18T01:00:01Z', '2020-11-18T00:00:00.000Z', '2020-11-18T02:00:00.000Z'],
  ['from=2020-11-17T13:00:00Z&to=2020-11-18T00:00:00.001Z', '2020-11-17T00:00:00.000Z', '2020-11-19T00:00:00.000Z'],
  ['to=2020-11-11', '2020-11-04T00:00:00.000Z', '2020-11-11T00:00:00.000Z'],
  ['granularity=hour&to=2020-11-11T05:00:00Z', '2020-11-04T05:00:00.000Z', '2020-11-11T05:00:00.000Z'],
  ['granularity=hour&from=2020-11-18T02:00:00%2B02:00', '2020-11-18T00:00:00.000Z', '2020-11-18T13:00:00.000Z'],
  // More than 90 days ago only days are left.
  [
    'granularity=hour&from=2020-08-19T05:00:00Z&to=2020-08-20T05:00:00Z',
    '2020-08-19T00:00:00.000Z',
    '2020-08-20T05:00:00.000Z',
  ],
  [
    'granularity=total&from=2020-08-01T05:00:00Z&to=2020-08-02T05:00:00Z',
    '2020-08-01T00:00:00.000Z',
    '2020-08-03T00:00:00.000Z',
  ],
])('the time is widened to whole periods, and the response says so: %s', async (query, from, to) => {
  const { json } = await stats(query)
  expect([json.from, json.to]).toEqual([from, to])
  const ms = json.series.map(({ period }: { period: string }) => Date.parse(period))
  expect(ms[0]).toBe(Date.parse(from))
})

test('a leap year of hours has 8,784 periods, each an hour after the one before', async () => {
  const { json } = await stats('from=2024-01-01&to=2025-01-01&granularity=hour')
  expect(json.series).toHaveLength(8_784)
  const start = Date.parse('2024-01-01')
  json.series.forEach(({ period }: { period: string }, i: number) => {
    expect(Date.parse(period)).toBe(start + i * HOUR_MS)
  })
  expect(json.series[60 * 24]).toMatchObject({ period: '2024-03-01T00:00:00.000Z', sent: 4 })
})

test.each([
  ['from=yesterday', 'from'],
  ['from=', 'from'],
  ['from=2020-02-30', 'from'],
  ['from=2020-13-01', 'from'],
  ['from=0999-12-31', 'from'],
  ['from=20261101', 'from'],
  ['from=1763424000', 'from'],
  ['to=2020-11-18T25:00:00Z', 'to'],
  ['to=2020-11-18T12:00:00%2B99:99', 'to'],
  ['to=2020-11-18Z', 'to'],
  ['to=2020-11-18T12:00:00Z%00', 'to'],
  ['from=2020-11-18T05:00', 'from'],
  ['from=2020-11-18&to=2020-11-17', 'from'],
  ['from=2021-01-01', 'from'],
  ['granularity=week', 'granularity'],
  ['granularity=', 'granularity'],
  ['from=2020-01-01&to=2021-01-02T01:00:00Z&granularity=hour', 'granularity'],
  ['from=1970-01-01&to=2999-12-31', 'granularity'],
  ['from=1969-12-31', 'from'],
  ['domain=nonsense', 'domain'],
  ['domain=a%00b.test', 'domain'],
  ['tenant_id=', 'tenant_id'],
  [`tenant_id=${'x'.repeat(129)}`, 'tenant_id'],
  ['tenant_id=%00', 'tenant_id'],
  ['unknown=1', 'unknown'],
])('400 invalid_payload names the field: %s', async (query, field) => {
  const { status, json } = await stats(query)
  expect([status, json.error, json.details?.[0]?.field]).toEqual([400, 'invalid_payload', field])
})

test('the widest possible time is counted', async () => {
  const { status, json } = await stats('from=1970-01-01&to=9999-12-31T23:59:59.999Z&granularity=total')
  expect(status).toBe(200)
  expect(json.to).toBe('9999-12-31T00:00:00.000Z')
  expect(json.totals.sent).toBe(1_126)
})

test('a domain is shown as paused by an open breaker, as throttled near to it, otherwise as active', async () => {
  const hour = new Date(Date.now() - (Date.now() % HOUR_MS))
  await count(hour.toISOString(), { delivered: 90, mailbox_does_not_exist: 10 })
  expect((await stats()).json.domains[0]).toEqual({ domain: EXAMPLE, sending: 'paused' })
  await count(new Date(hour.getTime() - 2 * HOUR_MS).toISOString(), { delivered: 50 })
  expect((await stats(`domain=${EXAMPLE}`)).json.domains).toEqual([{ domain: EXAMPLE, sending: 'throttled' }])
  await count(new Date(hour.getTime() - 23 * HOUR_MS).toISOString(), { delivered: 500 })
  expect((await stats(`from=${new Date(NOW - DAY_MS).toISOString()}`)).json.domains[0].sending).toBe('active')
})
