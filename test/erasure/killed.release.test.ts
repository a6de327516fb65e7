import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { eq } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { auditEntries } from '../../server/db/people-schema.ts'
import { messages, suppressions } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { testAccount } from '../harness/account.ts'
import { newEvent, storeDispatches } from '../webhooks/rows.ts'
import { dump } from './world.ts'

// `verdict erase` as a process that is killed in the middle of its work.

const EMAIL = 'ann@example.net'
const account = await testAccount()
/** Holds a lock for as long as a slow machine needs to start a process. */
const locker = postgres(account.url, { max: 1 })
const env: NodeJS.ProcessEnv = {
  DATABASE_URL: account.url,
  ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
}
afterAll(() => locker.end())

async function storeMentions(): Promise<void> {
  const { db, accountId } = account
  const at = new Date()
  const request = { from: 'a@example.test', to: [EMAIL], subject: 'For you', headers: [], attachments: [] }
  for (let i = 0; i < 20; i++) {
    const message = { sandbox: false, region: 'eu', sizeBytes: 1, createdAt: at, completedAt: at, request }
    await db.insert(messages).values({ ...message, id: newId(Date.now()), accountId, status: 'delivered' })
  }
  await storeDispatches(
    account,
    Array.from({ length: 20 }, () => newEvent(accountId, { recipient: EMAIL })),
  )
  await db
    .insert(suppressions)
    .values({ id: newId(Date.now()), accountId, tenantId: '', email: EMAIL, reason: 'manual' })
}

function startErase() {
  const args = ['cli/verdict.ts', 'erase', EMAIL, '--yes', '--json']
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  return { child, output: text(child.stdout) }
}

const numberOf = async (statement: string) => (await run<{ n: number }>(account.db, statement))[0]!.n
const LOCKS = 'from pg_locks where database = (select oid from pg_database where datname = current_database())'

/** Starts an erasure, kills it when it is about to change a table, and lets the time of its lease pass. */
async function eraseUntil(table: string): Promise<void> {
  await locker.begin(async (tx) => {
    await tx.unsafe(`lock table ${table} in exclusive mode`)
    const { child } = startErase()
    // It rests after each part, the longer the more connections of other tests are at work.
    const timeout = 90_000
    const waiting = () => numberOf(`select count(*)::int as n ${LOCKS} and not granted`)
    await expect.poll(waiting, { timeout }).toBeGreaterThan(0)
    child.kill('SIGKILL')
    expect(await numberOf('select count(*)::int as n from leases where until > now()')).toBeGreaterThan(0)
  })
  // Waits for PostgreSQL, too: the batch has the lock of this row until it is rolled back.
  await run(account.db, `update leases set until = now() - interval '1 second'`)
}

test('an erasure that is killed three times goes on each time, counts each row once, and leaves one audit entry', async () => {
  await storeMentions()
  for (const table of ['messages', 'suppressions', 'audit_entries']) {
    await eraseUntil(table)
    expect(await numberOf('select count(*)::int as n from erasures where finished_at is null')).toBe(1)
    expect(await account.db.$count(auditEntries, eq(auditEntries.action, 'address.erase'))).toBe(0)
  }
  // What was done before the kills is committed.
  const rows = 'select count(*)::int as n from'
  expect(await numberOf(`${rows} recipients where email like 'erased-%'`)).toBe(20)
  expect(await numberOf(`${rows} suppressions where email like 'erased-%'`)).toBe(1)

  const { output } = startErase()
  const tables = { recipients: 20, messages: 20, events: 20, suppressions: 1 }
  expect(JSON.parse(await output)).toMatchObject({ resumed: true, rows: 61, accounts: [{ tables }] })
  expect((await dump(account.db)).filter((row) => row.includes(EMAIL))).toEqual([])
  const entries = await account.db.select().from(auditEntries).where(eq(auditEntries.action, 'address.erase'))
  expect(entries).toMatchObject([{ accountId: account.accountId, after: tables }])
  expect(await numberOf('select count(*)::int as n from erasures where finished_at is null')).toBe(0)

  const again = startErase()
  expect(JSON.parse(await again.output)).toMatchObject({ resumed: false, rows: 0 })
  expect(await account.db.$count(auditEntries, eq(auditEntries.action, 'address.erase'))).toBe(1)
})
