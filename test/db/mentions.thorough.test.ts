import { expect, test } from 'vitest'
import { knownMigrations } from '../../server/db/applied-migrations.ts'
import { databaseTime } from '../../server/db/clock.ts'
import { newId } from '../../server/db/ids.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { makePartitions } from '../../server/db/partitions.ts'
import { run } from '../../server/db/statement.ts'
import { find, partsOf, rangesOf } from '../../server/erasure/scan.ts'
import { wantedAddress } from '../../server/erasure/spellings.ts'
import { createErasedForm } from '../../server/reputation/erased-form.ts'
import { migrateFirst } from '../harness/older-database.ts'
import { testDatabase } from '../harness/postgres.ts'

// The upgrade to the version with the indexes that lead to addresses.

/** More than 8 MB. */
const ROWS = 60_000

const database = await testDatabase('template1')

/** How many migrations come before the one that creates the indexes. */
const COUNT_BEFORE = knownMigrations().findIndex(({ sql }) => sql.join('').includes('messages_mentions'))

test('the upgrade builds no index over a day with many rows, later days have it, and both are searched', async () => {
  const { db } = database
  await migrateFirst(db, COUNT_BEFORE)
  await makePartitions(db, 2)
  const id = newId(await databaseTime(db))
  await run(
    db,
    `insert into events (id, message_id, account_id, status, recipient, sandbox, metadata, created_at)
     select (left($1, 24) || lpad(to_hex(n), 12, '0'))::uuid, $1::uuid, $1::uuid, 'delivered', 'bob@example.net', false,
       json_build_object('note', case when n = ${ROWS} then 'Ann@example.com' else 'x' end), now()
     from generate_series(1, ${ROWS}) n`,
    [id],
  )
  const days = async () => (await partsOf(db)).filter(({ name }) => /^(messages|recipients|events)_/.test(name))
  // Only a migrated database has all tables that a scan reads.
  const partitions = `select relname as name from pg_class where relname ~ '^(messages|recipients|events)_[0-9]{8}$'`
  const before = await run<{ name: string }>(db, partitions)
  await applyMigrations(database.url)
  await makePartitions(db, 4)

  const after = await days()
  expect(after.length).toBeGreaterThan(before.length)
  const plain = after.filter(({ isIndexed }) => !isIndexed)
  expect(plain).toEqual([expect.objectContaining({ name: expect.stringMatching(/^events_/) })])

  const part = plain[0]!
  const wanted = wantedAddress('ann@example.com', createErasedForm(Buffer.alloc(32)))
  const found: unknown[] = []
  for await (const range of rangesOf(db, part, 0, wanted)) {
    expect(range).toHaveProperty('to')
    found.push(...(await find(db, part, range, { wanted })))
  }
  expect(part.blocks).toBeGreaterThan(1_024)
  expect(found).toMatchObject([{ row: { metadata: { note: 'Ann@example.com' } } }])
})
