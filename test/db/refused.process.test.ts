import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startPostgres } from '../../dev/postgres/server.ts'
import { connect } from '../../server/db/connect.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { run } from '../../server/db/statement.ts'
import { startInstance } from '../e2e/instance.ts'
import { makeUnreleased, migrateLater } from '../harness/older-database.ts'
import { testDatabase } from '../harness/postgres.ts'
import { startProgram } from '../harness/process.ts'
import { temporaryFolder, untilEnd } from '../harness/until-end.ts'

// A database that this version must not use: every program that would use it says so and ends.

const unreleased = await testDatabase()
await makeUnreleased(unreleased.db)
const outgrown = await testDatabase()
await migrateLater(outgrown.db, '99.0.0')
const dataDir = temporaryFolder()

const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
const MADE = 'The database was made by an unreleased version of Verdict.'

/** Runs a program of this version until it ends. Returns its exit code and what it wrote. */
async function end(args: string[], env: NodeJS.ProcessEnv) {
  const settings = { ENCRYPTION_KEYS, DATA_DIR: dataDir, PORT: '0', TEMPORAL_ADDRESS: '127.0.0.1:1', ...env }
  const running = startProgram(process.execPath, args, settings)
  const code = await running.ended
  return { code, output: (running.stdout() + running.stderr()).replaceAll(/\s+/g, ' ') }
}

test.each([
  ['the API', ['server/main.ts'], 1],
  ['the worker', ['workflows/worker.ts'], 1],
  ['npm run migrate', ['server/db/migrate.ts'], 1],
  ['npm start', ['dev/start.ts'], 1],
  ['the command line', ['cli/bin.mjs', 'accounts', 'list'], 78],
])(
  '%s refuses one of an unreleased version and one of a later release, and names the ways out',
  async (_name, args, code) => {
    const [first, second] = await Promise.all([unreleased, outgrown].map(({ url }) => end(args, { DATABASE_URL: url })))
    expect(first!.output).toContain(`${MADE} Restore a back-up of the last release, or use an empty database.`)
    expect(second!.output).toMatch(
      /The database needs Verdict 99\.0\.0 or later, and this is \d+\.\d+\.\d+\. Use that release, or restore a back-up/,
    )
    expect([first!.code, second!.code]).toEqual([code, code])
  },
)

test('the embedded one of an unreleased version is refused with the name of the folder to delete', async () => {
  const postgres = untilEnd(await startPostgres({ dataDir }))
  await applyMigrations(postgres.url)
  const db = connect(postgres.url, { connections: 1 })
  await makeUnreleased(db)
  await db.$client.end()
  await writeFile(join(dataDir, 'database.json'), JSON.stringify({ url: postgres.url }))
  const wayOut = `${MADE} Delete the folder ${dataDir}, and run npm start again.`
  const listing = await end(['cli/bin.mjs', 'accounts', 'list'], { DATABASE_URL: '' })
  expect(listing).toMatchObject({ code: 78, output: expect.stringContaining(wayOut) })
  const diagnosis = await end(['cli/bin.mjs', 'doctor'], { DATABASE_URL: '' })
  expect(diagnosis.output).toMatch(
    /failed migrations The database was made by an unreleased version of Verdict.* Delete the folder/,
  )
  await postgres.stop()
  const start = await end(['dev/start.ts'], { DATABASE_URL: '' })
  expect(start).toMatchObject({ code: 1, output: expect.stringContaining(wayOut) })
  expect(start.output).not.toContain('DATABASE_URL')
})

test('/readyz of a running API is 503 on either, within 15 s', async () => {
  const instance = await startInstance()
  const { db } = instance.database
  const readiness = async () => {
    const response = await instance.get('/readyz')
    return [response.status, ((await response.json()) as { checks: Record<string, string> }).checks.migrations]
  }
  expect(await readiness()).toEqual([200, 'ok'])
  await migrateLater(db, '99.0.0')
  await expect.poll(readiness, { timeout: 15_000 }).toEqual([503, 'outgrown'])
  await run(db, `delete from drizzle.__drizzle_migrations where hash = 'of 99.0.0'`)
  await expect.poll(readiness, { timeout: 15_000 }).toEqual([200, 'ok'])
  await makeUnreleased(db)
  await expect.poll(readiness, { timeout: 15_000 }).toEqual([503, 'unreleased'])
})
