import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { connect, type Database } from '../../server/db/connect.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { newId } from '../../server/db/ids.ts'
import { run } from '../../server/db/statement.ts'
import { createSuppressionLookup } from '../../server/reputation/suppression.ts'
import { testDatabase } from '../harness/postgres.ts'

const database = await testDatabase()

const sealer = createSealer([{ id: 'k1', key: randomBytes(32) }])
const account = newId(Date.now())
const SUPPRESS_MANY = `
  insert into suppressions (id, account_id, tenant_id, email, reason)
  select gen_random_uuid(), $1::uuid, '', 'many' || i || '@a.example', 'import' from generate_series(1, 20000) i`

test('a look-up reads only the entries of the addresses it asks for', async () => {
  // The blocks that a vacuum reads would count, too.
  await run(database.db, 'alter table suppressions set (autovacuum_enabled = off)')
  await run(database.db, SUPPRESS_MANY, [account])
  await run(database.db, 'analyze suppressions')
  const emails = Array.from({ length: 50 }, (_, i) => `many${i * 2 + 1}@a.example`)
  // Statistics belong to a connection, so there is only one.
  const alone = connect(database.url, { connections: 1 })
  try {
    const before = await blocksRead(alone)
    expect(
      (await createSuppressionLookup(alone, sealer)({ accountId: account, tenantId: 'acme', addresses: emails })).size,
    ).toBe(50)
    const read = (await blocksRead(alone)) - before
    expect(read).toBeGreaterThan(50)
    expect(read).toBeLessThan(50 * 12)
  } finally {
    await alone.$client.end()
  }
})

const BLOCKS_READ = `
  select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::float8 as blocks
  from pg_statio_user_tables where relname = 'suppressions'`

/** Blocks of the table and its indexes that were read so far. */
async function blocksRead(db: Database): Promise<number> {
  await run(db, 'select pg_stat_force_next_flush()')
  const [row] = await run<{ blocks: number }>(db, BLOCKS_READ)
  return row!.blocks
}
