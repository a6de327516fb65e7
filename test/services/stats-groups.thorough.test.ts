import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { run } from '../../server/db/statement.ts'
import { mergeStatistics, rollUpDays } from '../../server/reputation/merge-statistics.ts'
import { addUpOpen, mergeGroups, rollUpGroups } from '../../server/reputation/open-statistics.ts'
import { waitForHourOf } from '../harness/periods.ts'
import { script } from '../sending/world.ts'
import { startApi } from './api.ts'

// Statistics by group and by the minute, from sends to the response.

const DAY_MS = 86_400_000
const TABLES = ['hourly_stats', 'open_stats', 'minute_stats', 'group_stats']
const GROUPINGS = ['provider', 'domain', 'recipient_domain', 'tag', 'tenant', 'reason'] as const

const api = await startApi()
beforeEach(async () => {
  await waitForHourOf(15_000)
  await run(api.world.db, `truncate ${TABLES}, suppressions, refusals`)
  script(api.world, {})
})

interface Group {
  key: string
  sent: number
  delivered: number
  bounced: number
  rejected: number
  complaints: number
  in_doubt: number
  p95_ms: number | null
  reasons: Record<string, number>
}

const stats = async (query: string) => (await api.call('GET', `/api/v1/stats?${query}`)).json
const groupsBy = async (by: string, more = '') => (await stats(`by=${by}${more}`)).groups as Group[]

/** Seven emails: four delivered, of which two have a tag, and two a tenant; two bounced; one rejected. */
async function sendSeven() {
  const { world } = api
  await api.send({ to: 'ann@example.net', tag: 'receipt', tenant_id: 'shop-1' })
  await api.send({ to: ['bob@Example.NET', 'carl@example.net'], tag: 'welcome' })
  await api.send({ to: 'dora@example.net', tenant_id: 'shop-1' })
  script(world, { rcpt: '552 5.2.2 Over quota' })
  await api.send({ to: 'emil@example.net', tag: 'receipt', tenant_id: 'shop-2' })
  await api.send({ to: ['frida@gone.invalid', 'x@simulator.test'] })
  script(world, { rcpt: '550 5.7.1 Refused by policy' })
  await api.send({ to: 'gerd@example.net' })
}

/** Moves everything that is counted to an earlier time. */
async function age(interval: string) {
  const { db } = api.world
  await run(db, `update hourly_stats set hour = hour - interval '${interval}'`)
  await run(db, `update group_stats set hour = hour - interval '${interval}'`)
  await run(db, `update minute_stats set minute = minute - interval '${interval}'`)
}

const STEPS: [name: string, take: () => Promise<unknown>, range: () => string][] = [
  ['as commits leave them', async () => {}, () => ''],
  ['added up', () => addUpOpen(api.world.db), () => ''],
  [
    'merged once the hour is over',
    async () => {
      await addUpOpen(api.world.db)
      await age('2 hours')
      await mergeStatistics(api.world.db)
      await mergeGroups(api.world.db)
    },
    () => '',
  ],
  [
    'added up by the day',
    async () => {
      await addUpOpen(api.world.db)
      await age('95 days')
      await mergeStatistics(api.world.db)
      await mergeGroups(api.world.db)
      const firstKept = Math.floor(Date.now() / DAY_MS - 90) * DAY_MS
      await rollUpDays(api.world.db, firstKept)
      await rollUpGroups(api.world.db, firstKept)
    },
    () => `&from=${new Date(Date.now() - 96 * DAY_MS).toISOString()}`,
  ],
]

test.each(STEPS)('groups add up to the totals, %s', async (_, take, range) => {
  await sendSeven()
  await take()
  const facts: Record<string, unknown> = {}
  for (const by of GROUPINGS) {
    const { totals, groups } = (await stats(`by=${by}${range()}`)) as { totals: Group; groups: Group[] }
    expect(totals).toMatchObject({ sent: 6, delivered: 4, bounced: 2, rejected: 1 })
    const sum = (field: 'sent' | 'delivered' | 'bounced' | 'rejected') => groups.reduce((all, g) => all + g[field], 0)
    expect([by, sum('bounced'), sum('rejected')]).toEqual([by, 2, 1])
    if (by !== 'reason') expect([by, sum('sent'), sum('delivered')]).toEqual([by, 6, 4])
    facts[by] = groups.map(({ key, sent, rejected }) => [key, sent, rejected])
  }
  const simulated = await stats(`simulated=true&by=recipient_domain${range()}`)
  expect(simulated).toMatchObject({
    totals: { sent: 1, delivered: 0, bounced: 1, rejected: 0 },
    reasons: { mailbox_does_not_exist: 1 },
    groups: [{ key: 'simulator.test', sent: 1 }],
  })
  expect(facts).toEqual({
    provider: [
      ['example.net', 6, 0],
      ['', 0, 1],
    ],
    domain: [['example.test', 6, 1]],
    recipient_domain: [
      ['example.net', 6, 0],
      ['gone.invalid', 0, 1],
    ],
    tag: [
      ['', 2, 1],
      ['receipt', 2, 0],
      ['welcome', 2, 0],
    ],
    tenant: [
      ['', 3, 1],
      ['shop-1', 2, 0],
      ['shop-2', 1, 0],
    ],
    reason: [
      ['mailbox_full', 1, 0],
      ['policy_block', 1, 0],
      ['invalid_address', 0, 1],
    ],
  })
})

test('a group has its reasons, its emails in doubt and its latency, and the filters hold for groups too', async () => {
  await sendSeven()
  script(api.world, { dot: 'close' })
  await api.send({ to: 'hanna@example.net', tag: 'receipt' })
  const tags = await groupsBy('tag', '&domain=example.test')
  expect(tags.find(({ key }) => key === 'receipt')).toEqual({
    key: 'receipt',
    sent: 3,
    delivered: 1,
    bounced: 2,
    rejected: 0,
    complaints: 0,
    in_doubt: 1,
    p95_ms: expect.any(Number),
    reasons: { mailbox_full: 1, connection_timeout: 1 },
  })
  expect((await groupsBy('recipient_domain', '&tenant_id=shop-1')).map(({ key, sent }) => [key, sent])).toEqual([
    ['example.net', 2],
  ])
  expect((await groupsBy('tenant', '&tenant_id=shop-1')).map(({ key, sent }) => [key, sent])).toEqual([['shop-1', 2]])
  expect(await groupsBy('tag', '&domain=other.test')).toEqual([])
  const reasons = await groupsBy('reason')
  expect(reasons.map(({ key, p95_ms, in_doubt }) => [key, p95_ms, in_doubt])).toContainEqual([
    'connection_timeout',
    null,
    1,
  ])
})

const COUNT_TAGS = `
  insert into open_stats (account_id, minute, tenant_id, domain, recipient_domain, provider, tag, status, in_doubt, bucket)
  select $1::uuid, date_trunc('minute', now()), '', 'example.test', 'd' || n || '.test', 'p', 't' || n, 'delivered', false, 3
  from generate_series($2::int, $3::int) as n, generate_series(1, 2)`
const COUNT_TOTALS = `
  insert into hourly_stats (account_id, tenant_id, hour, domain, shard, delivered, latency_3)
  select $1::uuid, '', date_trunc('hour', now(), 'UTC'), 'example.test', 7, $2::int, $2::int
  on conflict (account_id, tenant_id, hour, domain, shard) do update set delivered = hourly_stats.delivered + $2::int`

const countTags = async (first: number, last: number) => {
  await run(api.world.db, COUNT_TAGS, [api.world.account.id, first, last])
  await run(api.world.db, COUNT_TOTALS, [api.world.account.id, 2 * (last - first + 1)])
  await addUpOpen(api.world.db)
}

test('at most 100 tags of a day are counted apart, and the others are one group', async () => {
  await countTags(1, 60)
  await countTags(51, 150)
  await countTags(400, 420)
  const kept = await run(api.world.db, `select distinct key from group_stats where grouped_by = 'tag'`)
  expect(kept).toHaveLength(100)
  const groups = await groupsBy('tag')
  expect(groups).toHaveLength(101)
  expect(groups.at(-1)).toMatchObject({ key: 'other' })
  expect(groups.reduce((sum, { sent }) => sum + sent, 0)).toBe(120 + 200 + 42)
})

test('a response has 100 groups and the rest, and an hour that is over keeps the 100 with the most emails', async () => {
  await countTags(1, 150)
  await countTags(150, 150)
  const groups = await groupsBy('recipient_domain')
  expect(groups).toHaveLength(101)
  expect(groups[0]).toMatchObject({ key: 'd150.test', sent: 4 })
  expect(groups.at(-1)).toMatchObject({ key: 'other', sent: 100 })
  await age('2 hours')
  await mergeStatistics(api.world.db)
  await mergeGroups(api.world.db)
  const kept = await run(api.world.db, `select from group_stats where grouped_by = 'recipient_domain'`)
  expect(kept).toHaveLength(101)
  const merged = await groupsBy('recipient_domain')
  expect(merged.reduce((sum, { sent }) => sum + sent, 0)).toBe(302)
})

test('minutes are counted for the last hour by default, and add up to the totals', async () => {
  await sendSeven()
  for (const take of [async () => {}, () => addUpOpen(api.world.db)]) {
    await take()
    const json = await stats('granularity=minute')
    expect(json).toMatchObject({ granularity: 'minute', totals: { sent: 6, delivered: 4, bounced: 2, rejected: 1 } })
    expect(json).toMatchObject({ reasons: { mailbox_full: 1, policy_block: 1, invalid_address: 1 } })
    expect(json.series).toHaveLength(60)
    expect(json.series.at(-1).sent + json.series.at(-2).sent).toBe(6)
    expect(Date.parse(json.to) - Date.parse(json.from)).toBe(3_600_000)
    expect((await stats('granularity=minute&tenant_id=shop-1')).totals).toMatchObject({ sent: 2, delivered: 2 })
    expect((await stats('granularity=minute&domain=other.test')).totals).toMatchObject({ sent: 0 })
  }
})

const ago = (ms: number) => new Date(Date.now() - ms).toISOString()

test.each([
  [`granularity=minute&by=tag`, 'by', 'whole hours'],
  [`by=size`, 'by', ''],
  [`granularity=minute&from=${ago(6.1 * 3_600_000)}`, 'granularity', 'the most is 360'],
  [`granularity=minute&from=${ago(50 * 3_600_000)}&to=${ago(49 * 3_600_000)}`, 'from', 'kept for 2 days'],
])('%s is refused, and the error says what is possible', async (query, field, words) => {
  const { status, json } = await api.call('GET', `/api/v1/stats?${query}`)
  expect([status, json.error, json.details?.[0]?.field]).toEqual([400, 'invalid_payload', field])
  expect(JSON.stringify(json)).toContain(words)
})

test('six hours of minutes are allowed', async () => {
  const { series } = await stats(`granularity=minute&from=${ago(5.9 * 3_600_000)}`)
  expect(series.length).toBeGreaterThan(350)
})

test('statistics of another account are not in any group', async () => {
  await sendSeven()
  for (const by of GROUPINGS) {
    const { json } = await api.call('GET', `/api/v1/stats?by=${by}`, { key: api.keys.stranger })
    expect(json.groups).toEqual([])
  }
})

test('what several processes add up at once is counted once', async () => {
  await run(api.world.db, COUNT_TAGS, [randomUUID(), 1, 500])
  await Promise.all([1, 2, 3].map(() => addUpOpen(api.world.db)))
  await addUpOpen(api.world.db)
  const [row] = await run<{ sum: number }>(api.world.db, 'select sum(delivered)::int as sum from minute_stats')
  expect(row!.sum).toBe(1_000)
})
