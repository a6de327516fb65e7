import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { applyMigrations } from '../../server/db/migrations.ts'
import { run } from '../../server/db/statement.ts'
import { migrateLater } from '../harness/older-database.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'
import { startApiProcess, startProgram } from '../harness/process.ts'
import { PREVIOUS_RELEASE } from '../releases.ts'
import { runMigrations, unpackPreviousRelease } from './previous-release.ts'

// The previous release itself, on a database that has outgrown it.

const { tag } = PREVIOUS_RELEASE
const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`

let root: string
let database: TestDatabase
beforeAll(async () => {
  root = await unpackPreviousRelease()
  database = await testDatabase('template1')
  await runMigrations(database.url, root)
}, 600_000)
afterAll(() => rm(root, { recursive: true }))

/** Ends the sessions of a process that is stopped: it does not see that. */
const END_SESSIONS = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and application_name like 'verdict%' and pid <> pg_backend_pid()`

test(`${tag} is ready on its own database, holds the migration up, and is not ready 15 s after it`, async () => {
  const env = { DATABASE_URL: database.url, ENCRYPTION_KEYS }
  const api = await startApiProcess(env, root)
  onTestFinished(async () => void (await api.kill('SIGKILL')))
  const status = async () => (await fetch(`${api.url}/readyz`)).status
  expect(await status()).toBe(200)
  await expect(applyMigrations(database.url)).rejects.toThrow('stop every API and worker process of the old release')

  process.kill(api.pid, 'SIGSTOP')
  await run(database.db, END_SESSIONS)
  await applyMigrations(database.url)
  // Later migrations of this version may suit the previous release: then a later release's does not.
  await migrateLater(database.db, '99.0.0')
  process.kill(api.pid, 'SIGCONT')
  await expect.poll(status, { timeout: 15_000 }).toBe(503)
  expect(await api.kill('SIGTERM')).toBe(0)
}, 180_000)

test.each(['server/main.ts', 'workflows/worker.ts'])(
  `%s of ${tag} does not start on it`,
  async (program) => {
    const env = { DATABASE_URL: database.url, ENCRYPTION_KEYS, PORT: '0', TEMPORAL_ADDRESS: '127.0.0.1:1' }
    const running = startProgram(process.execPath, [program], env, root)
    expect(await running.ended).toBe(1)
    expect(running.stderr()).toMatch(/cannot start: The database/)
  },
  120_000,
)
