import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { newId } from '../../server/db/ids.ts'
import { recipients, warmUps } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { type Claim, createClaim } from '../../server/ledger/claim.ts'
import { LEFT_TO_TEMPORAL } from '../../server/ledger/first-attempts-offer.ts'
import { createMarker } from '../../server/ledger/marker.ts'
import { keepProbingWrites } from '../../server/ledger/probe-writes.ts'
import { sweep } from '../../server/ledger/sweep.ts'
import { delivered } from '../../server/sending/outcome.ts'
import { createRecordUntilStored } from '../../server/sending/until-stored.ts'
import { newClaim } from '../harness/claim.ts'
import { testDatabase } from '../harness/postgres.ts'
import { recipient } from '../harness/recipient.ts'
import { untilEnd } from '../harness/until-end.ts'
import { letArrive, outlast, pauseFor } from '../harness/waits.ts'

// A lock on the rows of one account, at any step of its sends, stops no other account. What this process knows is
// stored when the lock has gone, before the sweeper settles it.

const database = await testDatabase()
const db = connect(database.url, { lockMs: 1_000 })
const clock = untilEnd(await createDatabaseClock(db))
const claim = createClaim(db)
const mark = createMarker(db)
const record = createRecordUntilStored({ db, clock }, LEFT_TO_TEMPORAL)
afterAll(() => db.$client.end())

const DAY = '2026-01-31'
const CONTENT = { sizeBytes: 7, digest: 'ab'.repeat(32) }

async function send(fields: Partial<Claim>, leaseMs = 40_000): Promise<string> {
  const sent = newClaim({ leaseMs, ...fields })
  const untilMs = performance.now() + leaseMs
  if ((await claim(sent)) !== 'claimed') throw new Error('not claimed')
  if (!(await mark(sent.messageId, sent.claimId, [0]))) throw new Error('not marked')
  const outcomes = [delivered(recipient(sent.recipients[0]!.email))]
  await record({ claim: sent, content: CONTENT, outcomes }, untilMs)
  return sent.messageId
}

/** Holds locks on rows until the result is called. */
async function lockRows(statement: string): Promise<() => Promise<void>> {
  const held = postgres(database.url, { max: 1, onnotice: () => {} })
  await held.unsafe('begin')
  await held.unsafe(statement)
  return () => held.end({ timeout: 0 })
}

/** How a row of the account is locked at each step, before its sends. */
const STEPS: [what: string, lock: (accountId: string) => Promise<string>][] = [
  [
    'its warm-up, which claims take',
    async (accountId) => {
      await db.insert(warmUps).values({ accountId, domain: 'example.test', day: DAY, emails: 0 })
      return `select from warm_ups where account_id = '${accountId}' for update`
    },
  ],
  [
    'an idempotency key, which claims take',
    async (accountId) =>
      `insert into idempotency_keys (account_id, scope, key, message_id, request_hash, expires_at)
       values ('${accountId}', 'send/live', 'k', gen_random_uuid(), '', now() + interval '1 hour')`,
  ],
  [
    'its statistics, which records count in',
    async (accountId) =>
      `insert into hourly_stats (account_id, tenant_id, hour, domain, shard)
       select '${accountId}', '', date_trunc('hour', now(), 'UTC'), 'example.test', shard from generate_series(0, 80) shard`,
  ],
]

test.each(STEPS)('a lock on %s stops no other account', async (_, lockOf) => {
  const accountId = newId(Date.now())
  const release = await lockRows(await lockOf(accountId))
  const probe = await keepProbingWrites(db, { now: clock.now, onChange: () => {} })
  let isLocked = true
  let refused = 0
  const warmUp = { day: DAY, dailyLimit: 1_000, copies: 1 }
  const key = () => ({ scope: 'send/live', key: 'k', requestHash: 'ab'.repeat(32) })
  const locked = Array.from({ length: 6 }, async (_, i) => {
    for (let tries = 0; tries < 100; tries++) {
      const fields = { accountId, ...(i % 2 ? { warmUp } : { key: i === 0 ? key() : undefined }) }
      const sent = await send(fields).catch(() => undefined)
      if (sent) return
      refused++
      if (!isLocked) break
      await pauseFor(100)
    }
  })
  const longest = { claim: 0 }
  const others = Array.from({ length: 10 }, async () => {
    while (isLocked) {
      const startedMs = performance.now()
      await send({ accountId: randomUUID() })
      longest.claim = Math.max(longest.claim, performance.now() - startedMs)
      expect(db.recording.waitingMs()).toBe(0)
      await pauseFor(20)
    }
  })
  await outlast(12_000)
  isLocked = false
  await release()
  await Promise.all([...locked, ...others])
  probe.stop()
  console.log(`longest send of others: ${Math.round(longest.claim)} ms, refused of the account: ${refused}`)
  // Each of three steps may share a statement with the locked account until it gives up its lock after a second, twice.
  expect(longest.claim).toBeLessThan(5_000)
})

test('an outcome that waits for a lock past its lease is stored as it was, and no sweeper settles it', async () => {
  const accountId = newId(Date.now())
  const release = await lockRows(await STEPS[2]![1](accountId))
  const sending = send({ accountId }, 3_000).catch((error) => error)
  await letArrive(500)
  const sweeping = setInterval(() => sweep(database.db).catch(() => {}), 500)
  await outlast(9_000)
  await release()
  expect((await sending).constructor.name).toBe('OutcomeUnknown')
  await expect.poll(() => db.$count(recipients)).toBeGreaterThan(0)
  clearInterval(sweeping)
  await db.recording.idle(10_000)
  const rows = await run<{ status: string; in_doubt: boolean }>(
    db,
    `select status, in_doubt from recipients where account_id = '${accountId}'`,
  )
  expect([...rows]).toEqual([{ status: 'delivered', in_doubt: false }])
})

test('a sweep that waits for a lock settles nothing, and no sweeper does for 15 s after it', async () => {
  const dead = newClaim({ accountId: randomUUID() })
  await claim(dead)
  await mark(dead.messageId, dead.claimId, [0])
  await run(
    db,
    `update open_messages set lease_until = clock_timestamp() - interval '1 second' where id = '${dead.messageId}'`,
  )
  const release = await lockRows('lock table messages in access exclusive mode')
  await expect(sweep(db)).rejects.toMatchObject({ code: '55P03' })
  await release()
  const sinceMs = performance.now()
  // Another process, too.
  expect(await sweep(database.db)).toEqual({ settled: 0, released: 0 })
  await expect.poll(async () => (await sweep(database.db)).settled, { timeout: 20_000, interval: 500 }).toBe(1)
  expect(performance.now() - sinceMs).toBeGreaterThan(14_000)
})

test('a message that PostgreSQL refuses to settle keeps no other from its end', async () => {
  const [poison, other] = [newClaim(), newClaim()]
  for (const each of [poison, other]) {
    await claim(each)
    await mark(each.messageId, each.claimId, [0])
  }
  await run(
    db,
    `create function refuse_settling() returns trigger language plpgsql as $$
     begin if new.id = '${poison.messageId}' then raise 'not this one' using errcode = '23514'; end if; return new; end $$`,
  )
  await run(
    db,
    'create trigger refuse_settling before insert on messages for each row execute function refuse_settling()',
  )
  await run(db, `update open_messages set lease_until = clock_timestamp() - interval '1 second'`)
  expect(await sweep(db)).toEqual({ settled: 1, released: 0 })
  await expect(sweep(db)).rejects.toMatchObject({ code: '23514' })
  await run(db, 'drop function refuse_settling cascade')
  expect(await sweep(db)).toEqual({ settled: 1, released: 0 })
})
