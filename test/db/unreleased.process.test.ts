import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../../dev/postgres/server.ts'
import { connect } from '../../server/db/connect.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { startInstance } from '../e2e/instance.ts'
import { makeUnreleased } from '../harness/older-database.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'
import { startProgram } from '../harness/process.ts'

// A database of a version that was never released: every program that would use it says so and ends.

let database: TestDatabase
let dataDir: string
beforeAll(async () => {
  database = await testDatabase()
  await makeUnreleased(database.db)
  dataDir = await mkdtemp(join(tmpdir(), 'verdict-unreleased-'))
})
afterAll(async () => {
  await database.drop()
  await rm(dataDir, { recursive: true, force: true })
})

const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
const MADE = 'The database was made by an unreleased version of Verdict.'

/** Runs a program of this version until it ends. Returns its exit code and what it wrote. */
async function end(args: string[], env: NodeJS.ProcessEnv) {
  const settings = { ENCRYPTION_KEYS, DATA_DIR: dataDir, PORT: '0', TEMPORAL_ADDRESS: '127.0.0.1:1', ...env }
  const running = startProgram(process.execPath, args, settings)
  return { code: await running.ended, output: running.stdout() + running.stderr() }
}

test.each([
  ['the API', ['server/main.ts'], 1],
  ['the worker', ['workflows/worker.ts'], 1],
  ['npm run migrate', ['server/db/migrate.ts'], 1],
  ['npm start', ['dev/start.ts'], 1],
  ['the command line', ['cli/bin.mjs', 'accounts', 'list'], 78],
])('%s refuses it, and names the ways out', async (_name, args, code) => {
  const ended = await end(args, { DATABASE_URL: database.url })
  expect(ended.output.replaceAll('\n', ' ')).toContain(
    `${MADE} Restore a back-up of the last release, or use an empty database.`,
  )
  expect(ended.code).toBe(code)
})

test('the embedded one is refused with the name of the folder to delete', async () => {
  const postgres = await startPostgres({ dataDir })
  onTestFinished(postgres.stop)
  await applyMigrations(postgres.url)
  const db = connect(postgres.url, { connections: 1 })
  await makeUnreleased(db)
  await db.$client.end()
  await writeFile(join(dataDir, 'database.json'), JSON.stringify({ url: postgres.url }))
  const wayOut = `${MADE}\nDelete the folder ${dataDir}, and run npm start again.`
  const listing = await end(['cli/bin.mjs', 'accounts', 'list'], { DATABASE_URL: '' })
  expect(listing).toMatchObject({ code: 78, output: expect.stringContaining(wayOut) })
  const diagnosis = await end(['cli/bin.mjs', 'doctor'], { DATABASE_URL: '' })
  expect(diagnosis.output.replaceAll(/\s+/g, ' ')).toMatch(
    /failed migrations The database was made by an unreleased version of Verdict.* Delete the folder/,
  )
  await postgres.stop()
  const start = await end(['dev/start.ts'], { DATABASE_URL: '' })
  expect(start).toMatchObject({ code: 1, output: expect.stringContaining(wayOut) })
  expect(start.output).not.toContain('DATABASE_URL')
})

test('/readyz of a running API is 503 on it', async () => {
  const instance = await startInstance()
  onTestFinished(() => instance.stop())
  expect((await instance.get('/readyz')).status).toBe(200)
  await makeUnreleased(instance.database.db)
  await expect.poll(async () => (await instance.get('/readyz')).status, { timeout: 5_000 }).toBe(503)
  expect(await (await instance.get('/readyz')).json()).toMatchObject({ checks: { migrations: 'unreleased' } })
})
