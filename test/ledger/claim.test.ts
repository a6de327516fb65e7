import { afterAll, expect, test, vi } from 'vitest'
import { Reason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { connect, type Database } from '../../server/db/connect.ts'
import { eq } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { monthlyEmails, openMessages, warmUps } from '../../server/db/schema.ts'
import { type Claim, createClaim } from '../../server/ledger/claim.ts'
import { LEFT_TO_TEMPORAL } from '../../server/ledger/first-attempts-offer.ts'
import { createMarker } from '../../server/ledger/marker.ts'
import { bounced, delivered, rejected } from '../../server/sending/outcome.ts'
import { createRecordUntilStored, createSettleUntilStored } from '../../server/sending/until-stored.ts'
import { newClaim } from '../harness/claim.ts'
import { testDatabase } from '../harness/postgres.ts'
import { recipient } from '../harness/recipient.ts'

// What a claim takes: an idempotency key, a share of the day's volume and one of the month's quota.

/** The names under which the steps report their statements, with the rows of each. */
const batches: [name: string, rows: number][] = []
const database = await testDatabase()
const db = connect(database.url, { batchNotes: (name) => (rows) => void batches.push([name, rows]) })
const claim = createClaim(db)
afterAll(() => db.$client.end())

const DAY = '2026-01-31'
const MONTH = '2026-01-01'

/** An account that has sent these numbers of emails today and in this month. */
async function accountThatSent(today: number, thisMonth: number): Promise<string> {
  const accountId = newId(Date.now())
  await db.insert(warmUps).values({ accountId, domain: 'example.test', day: DAY, emails: today })
  await db.insert(monthlyEmails).values({ accountId, month: MONTH, emails: thisMonth })
  return accountId
}

async function sentBy(accountId: string) {
  const [today] = await db.select().from(warmUps).where(eq(warmUps.accountId, accountId))
  const [month] = await db.select().from(monthlyEmails).where(eq(monthlyEmails.accountId, accountId))
  return { today: today?.emails, thisMonth: month?.emails }
}

const warmUp = (dailyLimit: number) => ({ warmUp: { day: DAY, dailyLimit, copies: 1 } })
const quota = (monthlyLimit: number) => ({ quota: { month: MONTH, monthlyLimit, copies: 1 } })
const key = { key: { scope: 'send/live', key: 'k', requestHash: 'ab'.repeat(32) } }

test.for<[string, Partial<Claim>, { today: number; thisMonth: number }]>([
  ['nothing', {}, { today: 7, thisMonth: 70 }],
  ['a key alone', key, { today: 7, thisMonth: 70 }],
  ['a share of the warm-up', warmUp(10), { today: 8, thisMonth: 70 }],
  ['a share of the quota', quota(100), { today: 7, thisMonth: 71 }],
  ['a share of both, and a key', { ...warmUp(10), ...quota(100), ...key }, { today: 8, thisMonth: 71 }],
])('a claim takes %s', async ([, change, expected]) => {
  const accountId = await accountThatSent(7, 70)
  const taken = newClaim({ accountId, ...change })
  expect(await claim(taken)).toBe('claimed')
  expect(await sentBy(accountId)).toEqual(expected)
  expect(await db.$count(openMessages, eq(openMessages.id, taken.messageId))).toBe(1)
  // A repeat finds the key of the first, and takes nothing more.
  if (change.key) {
    expect(await claim(newClaim({ accountId, ...change }))).toBe('key_taken')
    expect(await sentBy(accountId)).toEqual(expected)
  }
})

test.for<[string, Partial<Claim>]>([
  ['over_warm_up', warmUp(7)],
  ['over_quota', quota(70)],
  ['over_quota', { ...warmUp(10), ...quota(70) }],
  ['over_warm_up', { ...warmUp(7), ...quota(100) }],
])('a claim is %s when there is no room left, and takes nothing', async ([result, change]) => {
  const accountId = await accountThatSent(7, 70)
  const refused = newClaim({ accountId, ...change })
  expect(await claim(refused)).toBe(result)
  expect(await sentBy(accountId)).toEqual({ today: 7, thisMonth: 70 })
  expect(await db.$count(openMessages, eq(openMessages.id, refused.messageId))).toBe(0)
})

test('claims with and without a quota share one statement, and each takes its own', async () => {
  const [limited, unlimited] = [await accountThatSent(0, 68), await accountThatSent(0, 0)]
  batches.length = 0
  const results = await Promise.all([
    // The first goes out alone.
    claim(newClaim({ accountId: unlimited })),
    ...Array.from({ length: 3 }, () => claim(newClaim({ accountId: limited, ...quota(70) }))),
    ...Array.from({ length: 3 }, () => claim(newClaim({ accountId: unlimited, ...key }))),
  ])
  expect(results.slice(1, 4).toSorted()).toEqual(['claimed', 'claimed', 'over_quota'])
  expect(results.slice(4).toSorted()).toEqual(['claimed', 'key_taken', 'key_taken'])
  expect(await sentBy(limited)).toEqual({ today: 0, thisMonth: 70 })
  expect(batches.some(([, rows]) => rows === 6)).toBe(true)
})

test('a claim that found no room beside one that lost its key tries again', async () => {
  const accountId = await accountThatSent(0, 69)
  await claim(newClaim({ accountId, ...key }))
  const results = await Promise.all([
    claim(newClaim({ accountId })),
    // The smaller message is admitted first, and loses its key: the place that it held is free.
    claim(newClaim({ accountId, ...key, ...quota(70), messageId: newId(Date.now() - 60_000) })),
    claim(newClaim({ accountId, ...quota(70) })),
  ])
  expect(results).toEqual(['claimed', 'key_taken', 'claimed'])
  expect(await sentBy(accountId)).toEqual({ today: 0, thisMonth: 70 })
})

test('a claim without the row of its month is a fault, and takes nothing', async () => {
  const c = newClaim(quota(70))
  await expect(claim(c)).rejects.toThrow('no row of the month')
  expect(await db.$count(openMessages, eq(openMessages.id, c.messageId))).toBe(0)
})

test('nothing is claimed while the disk of the database is full: the outcome could not be stored', async () => {
  const full = { ...db, health: { ...db.health, isFull: () => true } } as Database
  await expect(createClaim(full)(newClaim())).rejects.toThrow('disk of the database is full')
})

test('nothing is claimed while outcomes cannot be stored, but for the moments after the database moved', async () => {
  const waiting = vi.spyOn(db.recording, 'waitingMs').mockReturnValue(3_000)
  await expect(claim(newClaim())).rejects.toThrow('outcomes of sends cannot be stored')
  const moved = vi.spyOn(db.outage, 'lastMs').mockReturnValue(performance.now())
  expect(await claim(newClaim())).toBe('claimed')
  waiting.mockRestore()
  moved.mockRestore()
})

test('each step of a send reports its statements under its name', async () => {
  batches.length = 0
  const content = { sizeBytes: 7, digest: 'ab'.repeat(32) }
  const email = recipient('ann@example.net')
  const soon = () => performance.now() + 5_000
  const clock = await createDatabaseClock(db)
  const record = createRecordUntilStored({ db, clock }, LEFT_TO_TEMPORAL)
  for (const outcome of [delivered(email), bounced(email, Reason.MAILBOX_FULL)]) {
    const sent = newClaim()
    await claim(sent)
    await createMarker(db)(sent.messageId, sent.claimId, [0])
    await record({ claim: sent, content, outcomes: [outcome] }, soon())
  }
  const settle = createSettleUntilStored(db, LEFT_TO_TEMPORAL)
  const retry = {
    retriedId: newId(Date.now()),
    firstId: newId(Date.now()),
    recipients: [{ position: 0, senderPosition: 0 }],
  }
  for (const change of [{}, { retry }]) {
    await settle(newClaim(change), { outcomes: [rejected(email, Reason.INVALID_ADDRESS)], sandbox: false })
  }
  const steps = ['claim', 'marker', 'record', 'claim', 'marker', 'record', 'settle', 'settle']
  expect(batches.map(([name]) => name)).toEqual(steps)
})
