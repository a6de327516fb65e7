import { randomUUID } from 'node:crypto'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import { beforeEach, expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { databaseTime } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { eq, getTableColumns, sql } from '../../server/db/drizzle.ts'
import { breakers, hourlyStats } from '../../server/db/schema.ts'
import { createBreaker } from '../../server/reputation/breaker.ts'
import { testDatabase } from '../harness/postgres.ts'
import { cpuStopwatch } from '../harness/stopwatch.ts'
import { outlast } from '../harness/waits.ts'

const DOMAIN = 'example.test'
const database = await testDatabase()

let accountId: string
beforeEach(() => {
  accountId = randomUUID()
})

/** The breaker of another process: it has read nothing yet. */
const breaker = (db = database.db) => createBreaker({ db, limits: DEFAULT_LIMITS })

interface Counts {
  emails?: number
  bounces?: number
  complaints?: number
  hoursAgo?: number
  tenantId?: string
  domain?: string
}

/** Stores the counts of one hour: `emails` in all, `bounces` of them to mailboxes that do not exist. */
async function sent({ emails = 0, bounces = 0, complaints = 0, hoursAgo = 0, tenantId = '', domain = DOMAIN }: Counts) {
  const hour = sql`date_trunc('hour', now(), 'UTC') - ${hoursAgo}::int * interval '1 hour'`
  const counts = { delivered: emails - bounces, mailbox_does_not_exist: bounces, complaints }
  const { accountId: account, shard } = hourlyStats
  await database.db
    .insert(hourlyStats)
    .values({ accountId, tenantId, hour, domain, ...counts })
    .onConflictDoUpdate({
      target: [account, hourlyStats.tenantId, hourlyStats.hour, hourlyStats.domain, shard],
      set: Object.fromEntries(
        Object.keys(counts).map((name) => [name, sql.raw(`hourly_stats.${name} + excluded.${name}`)]),
      ),
    })
}

/** Moves the last change this far into the past. */
const longAgo = (interval: string) => changeBreaker({ changedAt: sql`${breakers.changedAt} - ${interval}::interval` })

const changeBreaker = (columns: PgUpdateSetSource<typeof breakers>) =>
  database.db.update(breakers).set(columns).where(eq(breakers.accountId, accountId))

/** Changes all statistics of the account. */
const changeHours = (counts: Record<string, number>) =>
  database.db.update(hourlyStats).set(counts).where(eq(hourlyStats.accountId, accountId))

const { state, cause, admitted, changedAt } = getTableColumns(breakers)
const row = async () =>
  (await database.db.select({ state, cause, admitted }).from(breakers).where(eq(breakers.accountId, accountId)))[0]

const peek = (of = breaker()) => of.peek(accountId, DOMAIN)
const admit = (emails = 1, of = breaker()) => of.admit(accountId, DOMAIN, emails)

async function open() {
  await sent({ emails: 100, bounces: 10 })
  expect(await peek()).toMatchObject({ state: 'paused' })
}

async function halfOpen() {
  await open()
  await longAgo('60 minutes')
  expect(await peek()).toEqual({ state: 'throttled' })
}

/** Waits for the next minute when this one is about to end, so that the rest of the test is in one minute. */
async function inOneMinute() {
  const leftMs = 60_000 - ((await databaseTime(database.db)) % 60_000)
  if (leftMs < 5_000) await outlast(leftMs + 50)
}

test.each<[string, Counts, string]>([
  ['no email at all', {}, 'active'],
  ['99 emails, all hard bounces: too few to judge', { emails: 99, bounces: 99 }, 'active'],
  ['hard bounces just under 5 %', { emails: 101, bounces: 5 }, 'active'],
  ['5 % hard bounces warn', { emails: 100, bounces: 5 }, 'throttled'],
  ['hard bounces just under 10 % warn', { emails: 1_001, bounces: 100 }, 'throttled'],
  ['10 % hard bounces open', { emails: 1_000, bounces: 100 }, 'paused'],
  ['complaints just under 0.1 %', { emails: 1_001, complaints: 1 }, 'active'],
  ['0.1 % complaints warn', { emails: 1_000, complaints: 1 }, 'throttled'],
  ['complaints just under 0.5 % warn', { emails: 601, complaints: 3 }, 'throttled'],
  ['0.5 % complaints open', { emails: 600, complaints: 3 }, 'paused'],
  ['2 complaints never open, whatever their share', { emails: 100, complaints: 2 }, 'throttled'],
])('%s', async (_, counts, state) => {
  await sent(counts)
  expect(await peek()).toMatchObject({ state })
  const refusal = await admit()
  if (state === 'paused') expect(refusal).toMatchObject({ state })
  else expect(refusal).toBeUndefined()
})

test('the last 23 hours and the current one count; older hours do not', async () => {
  await sent({ emails: 50, bounces: 5, hoursAgo: 23 })
  await sent({ emails: 50, bounces: 50, hoursAgo: 24 })
  expect(await peek()).toEqual({ state: 'active' })
  await sent({ emails: 50, bounces: 5 })
  expect(await peek()).toMatchObject({ state: 'paused' })
})

test('only hard bounces count', async () => {
  await sent({ emails: 100 })
  const soft = { mailbox_full: 20, no_mx_record: 20, connection_timeout: 20, policy_block: 20 }
  await changeHours({ delivered: 0, ...soft, spam_blocked: 10, temporary_failure: 10 })
  expect(await peek()).toEqual({ state: 'active' })
})

test('rejected emails are not part of the total of a share', async () => {
  await sent({ emails: 100, bounces: 10 })
  await changeHours({ suppression_list: 10_000 })
  expect(await peek()).toMatchObject({ state: 'paused' })
})

test('the shards of an hour are added up', async () => {
  await sent({ emails: 60, bounces: 6 })
  await changeHours({ shard: 3 })
  await sent({ emails: 40, bounces: 4 })
  expect(await peek()).toMatchObject({ state: 'paused' })
})

test('the rows of tenants are not counted twice', async () => {
  await sent({ emails: 60, bounces: 6 })
  await sent({ emails: 60, bounces: 6, tenantId: 'shop-1' })
  expect(await peek()).toEqual({ state: 'active' })
})

test('an open breaker refuses everything, with the seconds until it is half open', async () => {
  await open()
  const refusal = (await admit())!
  expect(refusal.retryAfterSeconds).toBeGreaterThan(3_590)
  expect(refusal.retryAfterSeconds).toBeLessThanOrEqual(3_600)
  await longAgo('59 minutes')
  const later = (await admit())!
  expect(later.retryAfterSeconds).toBeGreaterThan(50)
  expect(later.retryAfterSeconds).toBeLessThanOrEqual(60)
  expect(await row()).toMatchObject({ state: 'open', cause: 'bounces' })
})

test('another domain of the account, and the same domain of another account, are not affected', async () => {
  await open()
  await sent({ emails: 100, domain: 'other.test' })
  expect(await breaker().admit(accountId, 'other.test', 1)).toBeUndefined()
  expect(await breaker().admit(randomUUID(), DOMAIN, 1)).toBeUndefined()
})

test('half open after an hour: 10 emails a minute, exactly, over two processes at once', async () => {
  await halfOpen()
  await inOneMinute()
  const other = connect(database.url)
  const processes = [breaker(), breaker(other)]
  const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => admit(1, processes[i % 2])))
  expect(answers.filter((answer) => answer === undefined)).toHaveLength(10)
  for (const refusal of answers.filter((answer) => answer !== undefined)) {
    expect(refusal).toMatchObject({ state: 'throttled' })
    expect(refusal.retryAfterSeconds).toBeGreaterThanOrEqual(1)
    expect(refusal.retryAfterSeconds).toBeLessThanOrEqual(60)
  }
  const seen = await peek()
  expect(seen).toMatchObject({ state: 'throttled' })
  expect(seen.retryAfterSeconds).toBeLessThanOrEqual(60)
  await other.$client.end()
})

test('half open: the next minute admits 10 more', async () => {
  await halfOpen()
  await inOneMinute()
  expect(await admit(10)).toBeUndefined()
  expect(await admit(1)).toBeDefined()
  await changeBreaker({ minute: sql`${breakers.minute} - interval '1 minute'` })
  expect(await admit(7)).toBeUndefined()
  expect(await admit(4)).toBeDefined()
  expect(await admit(3)).toBeUndefined()
})

test('half open: a message of 25 emails is admitted first in its minute, and takes the next two minutes too', async () => {
  await halfOpen()
  await inOneMinute()
  expect(await admit(25)).toBeUndefined()
  const refusal = (await admit(1))!
  expect(refusal.retryAfterSeconds).toBeGreaterThan(120)
  expect(refusal.retryAfterSeconds).toBeLessThanOrEqual(180)
  await changeBreaker({ minute: sql`${breakers.minute} - interval '2 minutes'` })
  expect(await admit(5)).toBeUndefined()
  expect(await admit(1)).toBeDefined()
})

test('a peek does not count in the minute', async () => {
  await halfOpen()
  const one = breaker()
  for (let i = 0; i < 20; i++) expect(await peek(one)).toEqual({ state: 'throttled' })
  expect(await row()).toMatchObject({ admitted: 0 })
})

test('closes after 100 clean emails, not after 99', async () => {
  await halfOpen()
  await sent({ emails: 108, bounces: 9 })
  expect(await peek()).toEqual({ state: 'throttled' })
  await sent({ emails: 1 })
  expect(await peek()).toEqual({ state: 'active' })
  expect(await admit(50)).toBeUndefined()
  expect(await row()).toMatchObject({ state: 'closed', cause: 'bounces' })
})

test('closes even when 100 emails take longer than a day', async () => {
  await halfOpen()
  await longAgo('30 hours')
  await changeBreaker({ baseEmails: 0, baseBounces: 0 })
  await database.db.delete(hourlyStats).where(eq(hourlyStats.accountId, accountId))
  await sent({ emails: 50, hoursAgo: 29 })
  await sent({ emails: 49 })
  expect(await peek()).toEqual({ state: 'throttled' })
  await sent({ emails: 1 })
  expect(await peek()).toEqual({ state: 'active' })
})

test('opens again with the tenth hard bounce', async () => {
  await halfOpen()
  await sent({ emails: 9, bounces: 9 })
  expect(await peek()).toEqual({ state: 'throttled' })
  await sent({ emails: 1, bounces: 1 })
  expect(await peek()).toMatchObject({ state: 'paused' })
  expect((await admit())!.retryAfterSeconds).toBeGreaterThan(3_590)
})

test('opens again with the third complaint', async () => {
  await halfOpen()
  await sent({ emails: 90, complaints: 2 })
  expect(await peek()).toEqual({ state: 'throttled' })
  await sent({ complaints: 1 })
  expect(await peek()).toMatchObject({ state: 'paused' })
  expect(await row()).toMatchObject({ state: 'open', cause: 'complaints' })
})

test('once closed, earlier emails do not count again', async () => {
  await halfOpen()
  await sent({ emails: 100 })
  expect(await peek()).toEqual({ state: 'active' })
  await sent({ emails: 99, bounces: 99 })
  expect(await peek()).toEqual({ state: 'active' })
  await sent({ emails: 1 })
  expect(await peek()).toMatchObject({ state: 'paused' })
})

test('a day after it has closed, all of the last 24 hours count', async () => {
  await halfOpen()
  await sent({ emails: 100 })
  expect(await peek()).toEqual({ state: 'active' })
  await database.db.delete(hourlyStats).where(eq(hourlyStats.accountId, accountId))
  await sent({ emails: 100, bounces: 10 })
  await longAgo('25 hours')
  expect(await peek()).toMatchObject({ state: 'paused' })
})

test('many processes with the same reading make one change', async () => {
  await sent({ emails: 100, bounces: 10 })
  const seen = await Promise.all(Array.from({ length: 20 }, () => peek()))
  expect(seen.every(({ state }) => state === 'paused')).toBe(true)
  const isOurs = eq(breakers.accountId, accountId)
  const [before] = await database.db.select({ changedAt }).from(breakers).where(isOurs)
  await peek()
  const [after] = await database.db.select({ changedAt }).from(breakers).where(isOurs)
  expect(after).toEqual(before)
})

test('a process notices within about a second that another one has opened a breaker', async () => {
  const [one, other] = [breaker(), breaker()]
  expect(await admit(1, other)).toBeUndefined()
  await sent({ emails: 100, bounces: 10 })
  expect(await admit(1, one)).toBeDefined()
  expect(await admit(1, other)).toBeUndefined()
  await outlast(1_050)
  expect(await admit(1, other)).toMatchObject({ state: 'paused' })
})

test('a healthy domain costs one query a second, not one for each send', async () => {
  await sent({ emails: 1_000 })
  const one = breaker()
  await admit(1, one)
  const watch = cpuStopwatch()
  for (let i = 0; i < 100_000; i++) await admit(1, one)
  // A query for each send would take a minute.
  expect(watch.ms()).toBeLessThan(1_000)
})
