import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startPostgres } from '../../../dev/postgres/server.ts'
import { applyMigrations } from '../../../server/db/migrations.ts'
import { diagnose } from './patients.ts'

test('a standby fails: it takes no writes', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'verdict-standby-'))
  const primary = await startPostgres({ dataDir })
  await applyMigrations(primary.url)
  await primary.stop()
  // PostgreSQL starts as a standby, whose primary is away.
  await writeFile(join(dataDir, 'postgres/standby.signal'), '')
  const standby = await startPostgres({ dataDir, temporary: true })
  const found = await diagnose('writable', { DATABASE_URL: standby.url })
  await standby.stop()
  expect(found).toMatchObject({ state: 'failed', seen: 'it is a standby, which takes no writes: no mail is sent' })
})
