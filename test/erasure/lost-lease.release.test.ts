import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import postgres from 'postgres'
import { beforeEach, expect, test } from 'vitest'
import { newId } from '../../server/db/ids.ts'
import { suppressions } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { type TestAccount, testAccount } from '../harness/account.ts'
import { dump } from './world.ts'

// Two processes of `verdict erase`, of which one is frozen, refused, or loses its connection.

const EMAIL = 'ann@example.net'
let account: TestAccount
let env: NodeJS.ProcessEnv
beforeEach(async () => {
  account = await testAccount()
  env = { DATABASE_URL: account.url, ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}` }
})

const suppress = (tenantId: string) =>
  account.db
    .insert(suppressions)
    .values({ id: newId(Date.now()), accountId: account.accountId, tenantId, email: EMAIL, reason: 'manual' })

/** A send in flight, for which an erasure waits. */
async function openSend(): Promise<void> {
  const { db, accountId } = account
  const id = newId(Date.now())
  await run(
    db,
    `insert into open_messages (id, account_id, claim, lease_until, created_at, region, request)
     values ($1, $2, gen_random_uuid(), now() + interval '1 hour', now(), 'eu', '{}')`,
    [id, accountId],
  )
  await run(
    db,
    `insert into open_recipients (message_id, account_id, position, event_id, email, claim, lease_until)
     values ($1, $2, 0, $3, $4, gen_random_uuid(), now() + interval '1 hour')`,
    [id, accountId, newId(Date.now()), EMAIL],
  )
}

const endSends = () => run(account.db, 'truncate open_recipients, open_messages')

function startErase() {
  const child = spawn(process.execPath, ['cli/verdict.ts', 'erase', EMAIL, '--yes', '--json'], { env })
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)]
  return {
    child,
    ended: once(child, 'exit').then(async ([code]) => ({ code, stdout: await stdout, stderr: await stderr })),
  }
}

const numberOf = async (rows: string) =>
  (await run<{ n: number }>(account.db, `select count(*)::int as n from ${rows}`))[0]!.n
const mentions = async () => (await dump(account.db)).filter((row) => row.includes(EMAIL))
const SESSIONS = `pg_stat_activity where datname = current_database()`
/** It has nothing to do but to wait for the send. */
const waitsForSend = () =>
  expect
    .poll(() => numberOf(`${SESSIONS} and state = 'idle' and query like '%from open_recipients r join%'`), {
      timeout: 90_000,
    })
    .toBe(1)

test('a frozen erasure is taken over, and changes nothing when it wakes', async () => {
  await suppress('')
  await openSend()
  const frozen = startErase()
  await waitsForSend()
  frozen.child.kill('SIGSTOP')
  await run(account.db, `update leases set until = now() - interval '1 second'`)
  await endSends()
  const { code, stdout } = await startErase().ended
  expect(code).toBe(0)
  // It goes on where the frozen one was.
  expect(JSON.parse(stdout)).toMatchObject({ resumed: true, rows: 1 })
  expect(await mentions()).toEqual([])

  await suppress('later')
  frozen.child.kill('SIGCONT')
  const woken = await frozen.ended
  expect(woken.code).not.toBe(0)
  expect(woken.stderr).toContain('another one may have begun')
  expect(await mentions()).toHaveLength(1)
  expect(await numberOf('erasures where finished_at is not null')).toBe(1)
  expect(await numberOf('leases')).toBe(0)
})

test('a second erasure is refused while the first one runs', async () => {
  await suppress('')
  await openSend()
  const first = startErase()
  await waitsForSend()
  const second = await startErase().ended
  expect(second.code).not.toBe(0)
  expect(second.stderr).toContain('Another erasure is running')
  await endSends()
  expect((await first.ended).code).toBe(0)
  expect(await mentions()).toEqual([])
})

test('an erasure goes on when a session ends between its batches, as in a fail-over', async () => {
  await suppress('')
  await openSend()
  const erasing = startErase()
  await waitsForSend()
  await run(
    account.db,
    `select pg_terminate_backend(pid) from ${SESSIONS} and state = 'idle' and query like '%from open_recipients r join%'`,
  )
  await endSends()
  const { code, stdout } = await erasing.ended
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ rows: 1 })
  expect(await mentions()).toEqual([])
})

test('an erasure whose session ends in a batch stops, and the next one finishes it', async () => {
  await suppress('')
  const locker = postgres(account.url, { max: 1 })
  const waiting = `${SESSIONS} and wait_event_type = 'Lock'`
  let erasing: ReturnType<typeof startErase> | undefined
  await locker.begin(async (tx) => {
    await tx`lock table suppressions in exclusive mode`
    erasing = startErase()
    await expect.poll(() => numberOf(waiting), { timeout: 90_000 }).toBeGreaterThan(0)
    await run(account.db, `select pg_terminate_backend(pid) from ${waiting}`)
    expect((await erasing.ended).code).not.toBe(0)
  })
  await locker.end()
  expect(await numberOf('leases')).toBe(0)
  expect(await mentions()).toHaveLength(1)
  const { stdout } = await startErase().ended
  expect(JSON.parse(stdout)).toMatchObject({ resumed: true, rows: 1 })
  expect(await mentions()).toEqual([])
})
