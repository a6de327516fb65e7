import { afterAll, beforeAll, expect, test } from 'vitest'
import { removeExpired } from '../../server/db/expiry.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

test("expired keys are removed by the database's clock, however many, and no others", async () => {
  const sql = database.db.$client
  await sql`insert into idempotency_keys
    select gen_random_uuid(), 'send/live', n::text, gen_random_uuid(), '\\x00', now() - interval '1 second' from generate_series(1, 4500) n`
  await sql`insert into idempotency_keys
    values (gen_random_uuid(), 'send/live', 'kept', gen_random_uuid(), '\\x00', now() + interval '1 minute')`
  await removeExpired(database.db)
  expect((await sql`select key from idempotency_keys`).map(({ key }) => key)).toEqual(['kept'])
})

test('strikes go after 7 days, temporary suppression entries when they end, and entries that stay are kept', async () => {
  const sql = database.db.$client
  await sql`insert into suppression_strikes (event_id, account_id, tenant_id, email, kind, created_at)
    select gen_random_uuid(), gen_random_uuid(), '', 'a@example.net', 'full', now() - n * interval '1 day' from unnest(array[6, 8]) n`
  await sql`insert into suppressions (id, account_id, tenant_id, email, reason, expires_at)
    select gen_random_uuid(), gen_random_uuid(), '', 'a@example.net', 'bounce', at
    from unnest(array[now() - interval '1 second', now() + interval '1 minute', null]) at`
  await removeExpired(database.db)
  const [left] = await sql`select (select count(*)::int from suppression_strikes) as strikes,
    (select count(*)::int from suppressions) as suppressions`
  expect({ ...left }).toEqual({ strikes: 1, suppressions: 2 })
})
