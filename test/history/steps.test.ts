import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Reason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { newId, timeOfId } from '../../server/db/ids.ts'
import type { Claim } from '../../server/history/claim.ts'
import { LEFT_TO_TEMPORAL } from '../../server/history/first-attempts.ts'
import { release } from '../../server/history/release.ts'
import { sweep } from '../../server/history/sweep.ts'
import { claimStep } from '../../server/sending/claim.ts'
import { markerStep } from '../../server/sending/marker.ts'
import { bounced, delivered, rejected } from '../../server/sending/outcome.ts'
import { recordUntil, settleUntil } from '../../server/sending/record.ts'
import { storedOutcomes } from '../../server/sending/stored.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'
import { recipient } from '../harness/recipient.ts'

// Claim, marker, record, settle, release and sweep: the commits of a send, against a real PostgreSQL.

/** The size and the hash of a composed message. */
const CONTENT = { sizeBytes: 7, digest: 'ab'.repeat(32) }

let database: TestDatabase
let claim: ReturnType<typeof claimStep>
let mark: ReturnType<typeof markerStep>
let record: ReturnType<typeof recordUntil>
let settle: ReturnType<typeof settleUntil>

beforeAll(async () => {
  database = await testDatabase()
  claim = claimStep(database.db)
  mark = markerStep(database.db)
  record = recordUntil(database.db, LEFT_TO_TEMPORAL)
  settle = settleUntil(database.db, LEFT_TO_TEMPORAL)
})
afterAll(() => database.drop())

function newClaim(emails = ['ann@example.net'], leaseMs = 40_000, createdAtMs = Date.now()): Claim {
  return {
    messageId: newId(createdAtMs),
    accountId: newId(createdAtMs),
    claimId: randomUUID(),
    leaseMs,
    createdAtMs,
    region: 'eu',
    domain: 'example.test',
    request: { subject: 'Hello' },
    recipients: emails.map((email) => ({ eventId: newId(createdAtMs), email, kind: 'to' })),
  }
}

/** A lease that does not end during a test. */
const soon = () => performance.now() + 5_000
const endLease = (c: Claim) => overrideLease(c, `clock_timestamp() - interval '1 second'`)

async function overrideLease({ messageId }: Claim, sql: string): Promise<void> {
  await database.db.$client.unsafe(`update open_messages set lease_until = ${sql} where id = '${messageId}'`)
  await database.db.$client.unsafe(`update open_recipients set lease_until = ${sql} where message_id = '${messageId}'`)
}

/** How many rows each table has of a message. */
async function traces({ messageId }: Claim) {
  const sql = database.db.$client
  const [row] = await sql`select
    (select count(*)::int from open_messages where id = ${messageId}) as open,
    (select count(*)::int from open_recipients where message_id = ${messageId}) as open_recipients,
    (select count(*)::int from messages where id = ${messageId}) as messages,
    (select count(*)::int from recipients where message_id = ${messageId}) as recipients,
    (select count(*)::int from events where message_id = ${messageId}) as events`
  return { ...row }
}

const GONE = { open: 0, open_recipients: 0, messages: 0, recipients: 0, events: 0 }

test('claim, marker and record leave one message with one event for each recipient, and no open rows', async () => {
  const c = newClaim(['ann@example.net', 'bob@example.net'])
  await claim(c)
  expect(await traces(c)).toEqual({ ...GONE, open: 1, open_recipients: 2 })
  expect(await mark(c.messageId, c.claimId, [0, 1])).toBe(true)
  const outcomes = [delivered(recipient('ann@example.net')), bounced(recipient('bob@example.net'), Reason.MAILBOX_FULL)]
  const send = { claim: c, content: CONTENT, outcomes }
  expect(await record(send, soon())).toBe(outcomes)
  expect(await traces(c)).toEqual({ ...GONE, messages: 1, recipients: 2, events: 2 })
  const [message] = await database.db
    .$client`select status, reason, size_bytes, sandbox from messages where id = ${c.messageId}`
  expect({ ...message }).toEqual({ status: 'bounced', reason: 'mailbox_full', size_bytes: 7, sandbox: false })
})

/** The events of a message: the time in each id, and the time of the event. */
async function eventTimes({ messageId }: Claim): Promise<{ id: string; inId: number; at: number }[]> {
  const rows = await database.db.$client<{ id: string; at: number }[]>`
    select id, (extract(epoch from created_at) * 1000)::float8 as at from events where message_id = ${messageId}`
  return rows.map(({ id, at }) => ({ id, inId: timeOfId(id), at }))
}

const TEN_MINUTES_MS = 600_000

test.each<[string, (c: Claim) => Promise<unknown>]>([
  [
    'recorded',
    async (c) => {
      await claim(c)
      await record(
        { claim: c, content: CONTENT, outcomes: c.recipients.map(({ email }) => delivered(recipient(email))) },
        soon(),
      )
    },
  ],
  [
    'settled without SMTP',
    (c) =>
      settle(c, {
        outcomes: c.recipients.map(({ email }) => rejected(recipient(email), Reason.INVALID_ADDRESS)),
        sandbox: false,
      }),
  ],
  [
    'settled by the sweeper',
    async (c) => {
      await claim(c)
      await mark(c.messageId, c.claimId, [0])
      await endLease(c)
      await sweep(database.db)
    },
  ],
])('an event carries its timestamp in its id when its send is %s', async (_, end) => {
  const c = newClaim(['ann@example.net', 'bob@example.net'], 40_000, Date.now() - TEN_MINUTES_MS)
  await end(c)
  const times = await eventTimes(c)
  expect(times).toHaveLength(2)
  for (const { inId, at } of times) {
    expect(inId).toBe(at)
    expect(at).toBeGreaterThan(c.createdAtMs + TEN_MINUTES_MS - 60_000)
  }
})

test('an event is offered for its first attempt under its id in history', async () => {
  const c = newClaim(['ann@example.net', 'bob@example.net'], 40_000, Date.now() - TEN_MINUTES_MS)
  const sql = database.db.$client
  await sql`insert into accounts (id, name) values (${c.accountId}, 'Pushed')`
  await sql`insert into webhook_endpoints (account_id, url, secret) values (${c.accountId}, 'https://hooks.example/', 'x')`
  const offered: string[] = []
  const offering = recordUntil(database.db, { leaseMs: 30_000, offer: ({ id }) => void offered.push(id) })
  await claim(c)
  await offering(
    { claim: c, content: CONTENT, outcomes: c.recipients.map(({ email }) => delivered(recipient(email))) },
    soon(),
  )
  expect(offered.toSorted()).toEqual((await eventTimes(c)).map(({ id }) => id).toSorted())
  const dispatches = await sql`select id from open_dispatches where message_id = ${c.messageId} order by id`
  expect(dispatches.map(({ id }) => id)).toEqual(offered.toSorted())
})

test('a message that is recorded twice keeps its first outcome', async () => {
  const c = newClaim()
  await claim(c)
  const first = { claim: c, content: CONTENT, outcomes: [delivered(recipient('ann@example.net'))] }
  await record(first, soon())
  const second = { ...first, outcomes: [bounced(recipient('ann@example.net'), Reason.SPAM_BLOCKED)] }
  const stored = await record(second, soon())
  expect(stored.map((outcome) => outcome.reason)).toEqual([undefined])
  expect(await traces(c)).toEqual({ ...GONE, messages: 1, recipients: 1, events: 1 })
})

test('history refuses every update', async () => {
  const c = newClaim()
  await settle(c, { outcomes: [rejected(recipient('ann@example.net'), Reason.INVALID_ADDRESS)], sandbox: false })
  for (const [table, column] of [
    ['messages', 'id'],
    ['recipients', 'message_id'],
    ['events', 'message_id'],
  ]) {
    const update = database.db.$client.unsafe(
      `update ${table} set status = 'delivered' where ${column} = '${c.messageId}'`,
    )
    await expect(update).rejects.toThrow('history never changes')
  }
})

test('a send that never reaches SMTP is claimed and recorded in one commit', async () => {
  const c = newClaim()
  await settle(c, { outcomes: [rejected(recipient('ann@example.net'), Reason.INVALID_ADDRESS)], sandbox: true })
  expect(await traces(c)).toEqual({ ...GONE, messages: 1, recipients: 1, events: 1 })
  const [event] = await database.db
    .$client`select status, reason, sandbox from events where message_id = ${c.messageId}`
  expect({ ...event }).toEqual({ status: 'rejected', reason: 'invalid_address', sandbox: true })
})

test('a settlement whose result was lost is repeated and stored once', async () => {
  const c = newClaim()
  const outcomes = [rejected(recipient('ann@example.net'), Reason.INVALID_ADDRESS)]
  await settle(c, { outcomes, sandbox: false })
  await settle(c, { outcomes, sandbox: false })
  expect(await traces(c)).toEqual({ ...GONE, messages: 1, recipients: 1, events: 1 })
})

test('a settlement that PostgreSQL refuses fails at once and stores nothing', async () => {
  const c = newClaim(['nul\0@example.net'])
  await expect(
    settle(c, { outcomes: [rejected(recipient('nul\0@example.net'), Reason.INVALID_ADDRESS)], sandbox: false }),
  ).rejects.toThrow('stored')
  expect(await traces(c)).toEqual(GONE)
})

test('a record that comes after its lease still returns the stored outcome', async () => {
  const c = newClaim()
  await claim(c)
  const send = { claim: c, content: CONTENT, outcomes: [delivered(recipient('ann@example.net'))] }
  expect(await record(send, performance.now() - 1)).toBe(send.outcomes)
})

test('a marker needs the claim: another process cannot set one', async () => {
  const c = newClaim()
  await claim(c)
  expect(await mark(c.messageId, randomUUID(), [0])).toBe(false)
})

test('a process that was paused past its lease sets no marker', async () => {
  const c = newClaim()
  await claim(c)
  await endLease(c)
  expect(await mark(c.messageId, c.claimId, [0])).toBe(false)
})

test('a marker that does not cover all its recipients is refused', async () => {
  const c = newClaim(['ann@example.net'])
  await claim(c)
  expect(await mark(c.messageId, c.claimId, [0, 1])).toBe(false)
})

test('concurrent markers of two transactions of one message each succeed for their own recipients', async () => {
  const c = newClaim(['ann@example.net', 'bob@example.org'])
  await claim(c)
  const others = Array.from({ length: 20 }, () => newClaim())
  await Promise.all(others.map((other) => claim(other)))
  const marks = [
    ...others.map((o) => mark(o.messageId, o.claimId, [0])),
    mark(c.messageId, c.claimId, [0]),
    mark(c.messageId, c.claimId, [1]),
  ]
  expect(await Promise.all(marks)).toEqual(marks.map(() => true))
})

test('release leaves no trace', async () => {
  const c = newClaim(['ann@example.net', 'bob@example.net'])
  await claim(c)
  expect(await release(database.db, c.messageId, c.claimId)).toBe(true)
  expect(await traces(c)).toEqual(GONE)
})

test('a claim with a marker is not released, nor is the claim of another process', async () => {
  const c = newClaim(['ann@example.net', 'bob@example.net'])
  await claim(c)
  expect(await release(database.db, c.messageId, randomUUID())).toBe(false)
  await mark(c.messageId, c.claimId, [1])
  expect(await release(database.db, c.messageId, c.claimId)).toBe(false)
  expect(await traces(c)).toEqual({ ...GONE, open: 1, open_recipients: 2 })
})

test('a crashed send without a marker is deleted after its lease, as if the request had never come', async () => {
  const c = newClaim()
  await claim(c)
  await sweep(database.db)
  expect(await traces(c)).toEqual({ ...GONE, open: 1, open_recipients: 1 })
  await endLease(c)
  await sweep(database.db)
  expect(await traces(c)).toEqual(GONE)
})

test('after a crash, recipients with a marker are in doubt, and the others of the message are temporary failures', async () => {
  const c = newClaim(['ann@example.net', 'bob@example.net'])
  await claim(c)
  await mark(c.messageId, c.claimId, [1])
  await endLease(c)
  await sweep(database.db)
  expect(await traces(c)).toEqual({ ...GONE, messages: 1, recipients: 2, events: 2 })
  const outcomes = await storedOutcomes(database.db, c.messageId)
  expect(outcomes.map(({ reason, inDoubt, retryable }) => ({ reason, inDoubt, retryable }))).toEqual([
    { reason: Reason.TEMPORARY_FAILURE, inDoubt: undefined, retryable: true },
    { reason: Reason.CONNECTION_TIMEOUT, inDoubt: true, retryable: undefined },
  ])
})

test('a marker that is set while the sweeper already waits for its row is seen', async () => {
  const c = newClaim(['ann@example.net', 'bob@example.net'])
  await claim(c)
  await endLease(c)
  const { promise: swept, resolve } = Promise.withResolvers<unknown>()
  await database.db.$client.begin(async (tx) => {
    await tx`update open_recipients set marked_at = now() where message_id = ${c.messageId} and position = 1`
    sweep(database.db).then(resolve)
    await new Promise((done) => setTimeout(done, 100))
  })
  expect(await swept).toEqual({ settled: 1, released: 0 })
  expect((await storedOutcomes(database.db, c.messageId)).map(({ inDoubt }) => inDoubt)).toEqual([undefined, true])
})

test('a record that comes after the sweeper returns the settled outcome', async () => {
  const c = newClaim()
  await claim(c)
  await mark(c.messageId, c.claimId, [0])
  await endLease(c)
  await sweep(database.db)
  const late = { claim: c, content: CONTENT, outcomes: [delivered(recipient('ann@example.net'))] }
  const stored = await record(late, soon())
  expect(stored[0]!.inDoubt).toBe(true)
})

test('a record that comes after the sweeper removed an unmarked send says that nothing was sent', async () => {
  const c = newClaim()
  await claim(c)
  await endLease(c)
  await sweep(database.db)
  const late = {
    claim: c,
    content: CONTENT,
    outcomes: [bounced(recipient('ann@example.net'), Reason.POLICY_BLOCK)],
  }
  await expect(record(late, soon())).rejects.toThrow('Nothing was sent')
})

test('markers race with the sweeper: a marker that was set is never lost', async () => {
  const claims = Array.from({ length: 150 }, () => newClaim(['ann@example.net', 'bob@example.net']))
  await Promise.all(claims.map((c) => claim(c)))
  // Leases end while the markers are being set.
  await database.db.$client`
    with moved as (
      update open_messages set lease_until = clock_timestamp() + random() * interval '1 second'
      where id = any(${`{${claims.map(({ messageId }) => messageId)}}`}::uuid[]) returning id, lease_until
    )
    update open_recipients o set lease_until = moved.lease_until from moved where o.message_id = moved.id`
  const sweepFor = async (ms: number) => {
    for (const untilMs = performance.now() + ms; performance.now() < untilMs; ) await sweep(database.db)
  }
  const swept = sweepFor(1_200)
  const marks = await Promise.all(
    claims.map(async (c) => {
      await new Promise((done) => setTimeout(done, Math.random() * 1_000))
      return mark(c.messageId, c.claimId, [0, 1])
    }),
  )
  await swept
  await new Promise((done) => setTimeout(done, 200))
  await sweep(database.db)
  await sweep(database.db)
  for (const [i, c] of claims.entries()) {
    const outcomes = await storedOutcomes(database.db, c.messageId)
    if (marks[i]) expect(outcomes.map((outcome) => outcome.inDoubt)).toEqual([true, true])
    expect((await traces(c)).open).toBe(0)
  }
  expect(marks.some(Boolean)).toBe(true)
  expect(marks.every(Boolean)).toBe(false)
})

test('a statement with one row that PostgreSQL refuses stores all the others', async () => {
  const claims = Array.from({ length: 30 }, () => newClaim())
  claims[17]!.recipients[0]!.email = 'nul\0@example.net'
  const results = await Promise.allSettled(claims.map((c) => claim(c)))
  expect(results.filter((result) => result.status === 'rejected')).toHaveLength(1)
  expect(results[17]!.status).toBe('rejected')
})
