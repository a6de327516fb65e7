import { randomUUID } from 'node:crypto'
import type { SQL } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { sql } from '../../server/db/drizzle.ts'
import { removeExpired } from '../../server/db/expiry.ts'
import { idempotencyKeys } from '../../server/db/schema.ts'
import { testDatabase } from '../harness/postgres.ts'

const database = await testDatabase()

const past = sql`now() - interval '1 second'`
const soon = sql`now() + interval '1 minute'`

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
