import { randomBytes, randomUUID } from 'node:crypto'
import type { SQL } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { sql } from '../../server/db/drizzle.ts'
import { removeExpired } from '../../server/db/expiry.ts'
import { newId } from '../../server/db/ids.ts'
import { auditEntries, invitations, people, sessions, verifications } from '../../server/db/people-schema.ts'
import {
  accounts,
  apiKeys,
  breakers,
  domains,
  idempotencyKeys,
  refusals,
  suppressions,
} from '../../server/db/schema.ts'
import { testDatabase } from '../harness/postgres.ts'

const database = await testDatabase()

const past = sql`now() - interval '1 second'`
const soon = sql`now() + interval '1 minute'`

test('refusals are deleted after 90 days, temporary suppression entries when they expire, and no other entries', async () => {
  const { db } = database
  const address = { tenantId: '', email: 'a@example.net' }
  for (const days of [89, 91]) {
    const createdAt = sql`now() - ${days} * interval '1 day'`
    const ids = { eventId: randomUUID(), accountId: randomUUID() }
    await db.insert(refusals).values({ ...ids, ...address, kind: 'full', createdAt })
  }
  for (const expiresAt of [past, soon, null]) {
    const ids = { id: randomUUID(), accountId: randomUUID() }
    await db.insert(suppressions).values({ ...ids, ...address, reason: 'bounce', expiresAt })
  }
  await removeExpired(db)
  expect(await db.$count(refusals)).toBe(1)
  expect(await db.$count(suppressions)).toBe(2)
})

test('sessions that have ended and links that stopped working a month ago are deleted, and no others', async () => {
  const { db } = database
  const [userId, email] = [randomUUID(), 'ann@people.test']
  await db.insert(people).values({ id: userId, name: 'Ann', email })
  for (const expiresAt of [past, soon]) {
    await db.insert(sessions).values({ id: randomUUID(), token: randomUUID(), userId, expiresAt })
    await db.insert(verifications).values({ id: randomUUID(), identifier: randomUUID(), value: 'x', expiresAt })
  }
  for (const [endedAgo, expiredAgo] of [
    [31, 20],
    [29, 20],
    [null, 31],
    [null, 29],
  ]) {
    const ago = (days: number) => sql`now() - ${days} * interval '1 day'`
    const times = { endedAt: endedAgo === null ? null : ago(endedAgo!), expiresAt: ago(expiredAgo!) }
    const tokenHash = Buffer.from(randomUUID())
    await db.insert(invitations).values({ id: randomUUID(), email, role: 'reader', tokenHash, ...times })
  }
  await removeExpired(db)
  expect(await db.$count(sessions)).toBe(1)
  expect(await db.$count(verifications)).toBe(1)
  expect(await db.$count(invitations)).toBe(2)
})

test('keys and breakers that decide nothing any more are removed, and entries of the audit log after three years', async () => {
  const { db } = database
  const accountId = newId(Date.now())
  await db.insert(accounts).values({ id: accountId, name: 'Shop' })
  const ago = (days: number) => new Date(Date.now() - days * 86_400_000)
  const key = (name: string, ends: object) => ({
    ...{ id: randomUUID(), accountId, name, hint: 'svc', hash: randomBytes(32), test: false, scopes: [], ...ends },
  })
  await db
    .insert(apiKeys)
    .values([
      key('valid', {}),
      key('revoked long ago', { revokedAt: ago(91), expiresAt: ago(-5) }),
      key('revoked', { revokedAt: ago(89) }),
      key('expired long ago', { expiresAt: ago(91) }),
    ])
  const breaker = (domain: string, state: 'open' | 'closed', days: number) => ({
    ...{ accountId, domain, state, cause: 'bounces' as const, changedAt: ago(days) },
    ...{ baseEmails: 0, baseBounces: 0, baseComplaints: 0 },
  })
  await db
    .insert(breakers)
    .values([
      breaker('one.test', 'closed', 8),
      breaker('two.test', 'closed', 6),
      breaker('gone.test', 'open', 8),
      breaker('kept.test', 'open', 8),
    ])
  await db.insert(domains).values({ id: randomUUID(), accountId, name: 'kept.test', status: 'verified' })
  const entry = (days: number) => ({
    ...{ id: newId(ago(days).getTime()), accountId, actorKind: 'operator' as const, actorName: 'root' },
    ...{ action: 'key.create', target: `${days}` },
  })
  await db.insert(auditEntries).values([entry(1_000), entry(1_200)])
  await removeExpired(db)
  expect((await db.select().from(apiKeys)).map(({ name }) => name).sort()).toEqual(['revoked', 'valid'])
  expect((await db.select().from(breakers)).map(({ domain }) => domain).sort()).toEqual(['kept.test', 'two.test'])
  expect((await db.select().from(auditEntries)).map(({ target }) => target)).toEqual(['1000'])
})

test("expired keys are removed by the database's clock, however many, and no others", async () => {
  const { db } = database
  const key = (name: string, expiresAt: SQL) => {
    const ids = { accountId: randomUUID(), messageId: randomUUID() }
    return { ...ids, scope: 'send/live', key: name, requestHash: Buffer.of(0), expiresAt }
  }
  const expired = Array.from({ length: 4_500 }, (_, n) => key(String(n), past))
  await db.insert(idempotencyKeys).values([...expired, key('kept', soon)])
  await removeExpired(db)
  expect((await db.select().from(idempotencyKeys)).map((row) => row.key)).toEqual(['kept'])
})
