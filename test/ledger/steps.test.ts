import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { Reason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { and, asc, eq, sql } from '../../server/db/drizzle.ts'
import { timeOfId } from '../../server/db/ids.ts'
import {
  accounts,
  events,
  messages,
  openDispatches,
  openMessages,
  openRecipients,
  recipients,
  webhookEndpoints,
} from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { type Claim, createClaim } from '../../server/ledger/claim.ts'
import { type DispatchedEvent, LEFT_TO_TEMPORAL } from '../../server/ledger/first-attempts-offer.ts'
import { createMarker } from '../../server/ledger/marker.ts'
import { release } from '../../server/ledger/release.ts'
import { sweep } from '../../server/ledger/sweep.ts'
import { bounced, delivered, rejected } from '../../server/sending/outcome.ts'
import { storedOutcomes } from '../../server/sending/stored-response.ts'
import { createRecordUntilStored, createSettleUntilStored } from '../../server/sending/until-stored.ts'
import { createReadEvent } from '../../server/webhooks/attempt/begin.ts'
import { newClaim } from '../harness/claim.ts'
import { testDatabase } from '../harness/postgres.ts'
import { recipient } from '../harness/recipient.ts'
import { refuseRows } from '../harness/refuse-rows.ts'
import { endsOfSteps } from '../harness/step-ends.ts'
import { untilEnd } from '../harness/until-end.ts'
import { letArrive, takes } from '../harness/waits.ts'

// Claim, marker, record, settle, release and sweep: the commits of a send, against a real PostgreSQL.

/** The size and the hash of a composed message. */
const CONTENT = { sizeBytes: 7, digest: 'ab'.repeat(32) }

const database = await testDatabase()
const claim = createClaim(database.db)
const mark = createMarker(database.db)
const clock = untilEnd(await createDatabaseClock(database.db))
const record = createRecordUntilStored({ db: database.db, clock }, LEFT_TO_TEMPORAL)
const settle = createSettleUntilStored(database.db, LEFT_TO_TEMPORAL)

/** A lease that does not end during a test. */
const soon = () => performance.now() + 5_000

async function endLease({ messageId }: Claim): Promise<void> {
  const ended = { leaseUntil: sql`clock_timestamp() - interval '1 second'` }
  await database.db.update(openMessages).set(ended).where(eq(openMessages.id, messageId))
  await database.db.update(openRecipients).set(ended).where(eq(openRecipients.messageId, messageId))
}

/** How many rows each table has of a message. */
async function traces({ messageId }: Claim) {
  const { db } = database
  return {
    open: await db.$count(openMessages, eq(openMessages.id, messageId)),
    openRecipients: await db.$count(openRecipients, eq(openRecipients.messageId, messageId)),
    messages: await db.$count(messages, eq(messages.id, messageId)),
    recipients: await db.$count(recipients, eq(recipients.messageId, messageId)),
    events: await db.$count(events, eq(events.messageId, messageId)),
  }
}

const GONE = { open: 0, openRecipients: 0, messages: 0, recipients: 0, events: 0 }

test('claim, marker and record leave one message with one event for each recipient, and no open rows', async () => {
  const c = newClaim({ to: ['ann@example.net', 'bob@example.net'] })
  await claim(c)
  expect(await traces(c)).toEqual({ ...GONE, open: 1, openRecipients: 2 })
  expect(await mark(c.messageId, c.claimId, [0, 1])).toBe(true)
  const outcomes = [delivered(recipient('ann@example.net')), bounced(recipient('bob@example.net'), Reason.MAILBOX_FULL)]
  const send = { claim: c, content: CONTENT, outcomes }
  expect(await record(send, soon())).toBe(outcomes)
  expect(await traces(c)).toEqual({ ...GONE, messages: 1, recipients: 2, events: 2 })
  const { status, reason, sizeBytes, sandbox } = messages
  const [message] = await database.db
    .select({ status, reason, sizeBytes, sandbox })
    .from(messages)
    .where(eq(messages.id, c.messageId))
  expect(message).toEqual({ status: 'bounced', reason: 'mailbox_full', sizeBytes: 7, sandbox: false })
})

/** The events of a message: the time in each id, and the time of the event. */
async function eventTimes({ messageId }: Claim): Promise<{ id: string; inId: number; at: number }[]> {
  const rows = await database.db.select().from(events).where(eq(events.messageId, messageId))
  return rows.map(({ id, createdAt }) => ({ id, inId: timeOfId(id), at: createdAt.getTime() }))
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
  const c = newClaim({ to: ['ann@example.net', 'bob@example.net'], createdAtMs: Date.now() - TEN_MINUTES_MS })
  await end(c)
  const times = await eventTimes(c)
  expect(times).toHaveLength(2)
  for (const { inId, at } of times) {
    expect(inId).toBe(at)
    expect(at).toBeGreaterThan(c.createdAtMs + TEN_MINUTES_MS - 60_000)
  }
})

test('an event is offered for its first attempt as history has it', async () => {
  const c = newClaim({ to: ['ann@example.net', 'bob@example.net'], createdAtMs: Date.now() - TEN_MINUTES_MS })
  const { accountId, messageId } = c
  await database.db.insert(accounts).values({ id: accountId, name: 'Pushed' })
  const endpoint = { id: accountId, accountId, first: true, url: 'https://hooks.example/', secret: Buffer.from('x') }
  await database.db.insert(webhookEndpoints).values(endpoint)
  const offered: DispatchedEvent[] = []
  const offering = createRecordUntilStored(
    { db: database.db, clock },
    { leaseMs: 30_000, offer: (event) => void offered.push(event) },
  )
  await claim(c)
  await offering(
    { claim: c, content: CONTENT, outcomes: c.recipients.map(({ email }) => delivered(recipient(email))) },
    soon(),
  )
  expect(offered.map(({ id }) => id).toSorted()).toEqual((await eventTimes(c)).map(({ id }) => id).toSorted())
  const read = createReadEvent(database.db)
  for (const { dispatchId, endpointId, ...event } of offered) {
    expect(endpointId).toBe(endpoint.id)
    expect(await read({ eventId: event.id, messageId })).toMatchObject(event)
  }
  const dispatches = await database.db
    .select({ id: openDispatches.id })
    .from(openDispatches)
    .where(eq(openDispatches.messageId, messageId))
    .orderBy(asc(openDispatches.id))
  expect(dispatches.map(({ id }) => id)).toEqual(offered.map(({ dispatchId }) => dispatchId).toSorted())
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
  const { db } = database
  for (const update of [
    db.update(messages).set({ status: 'delivered' }).where(eq(messages.id, c.messageId)),
    db.update(recipients).set({ status: 'delivered' }).where(eq(recipients.messageId, c.messageId)),
    db.update(events).set({ status: 'delivered' }).where(eq(events.messageId, c.messageId)),
  ]) {
    await expect(update).rejects.toMatchObject({ cause: { message: expect.stringContaining('history never changes') } })
  }
})

test('a send that never reaches SMTP is claimed and recorded in one commit', async () => {
  const c = newClaim()
  await settle(c, { outcomes: [rejected(recipient('ann@example.net'), Reason.INVALID_ADDRESS)], sandbox: true })
  expect(await traces(c)).toEqual({ ...GONE, messages: 1, recipients: 1, events: 1 })
  const { status, reason, sandbox } = events
  const [event] = await database.db
    .select({ status, reason, sandbox })
    .from(events)
    .where(eq(events.messageId, c.messageId))
  expect(event).toEqual({ status: 'rejected', reason: 'invalid_address', sandbox: true })
})

test('a settlement whose result was lost is repeated and stored once', async () => {
  const c = newClaim()
  const outcomes = [rejected(recipient('ann@example.net'), Reason.INVALID_ADDRESS)]
  await settle(c, { outcomes, sandbox: false })
  await settle(c, { outcomes, sandbox: false })
  expect(await traces(c)).toEqual({ ...GONE, messages: 1, recipients: 1, events: 1 })
})

test('a settlement that PostgreSQL refuses fails at once and stores nothing', async () => {
  const c = newClaim({ to: ['nul\0@example.net'] })
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
  const c = newClaim({ to: ['ann@example.net'] })
  await claim(c)
  expect(await mark(c.messageId, c.claimId, [0, 1])).toBe(false)
})

test('concurrent markers of two transactions of one message each succeed for their own recipients', async () => {
  const c = newClaim({ to: ['ann@example.net', 'bob@example.org'] })
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
  const c = newClaim({ to: ['ann@example.net', 'bob@example.net'] })
  await claim(c)
  expect(await release(database.db, c.messageId, c.claimId)).toBe(true)
  expect(await traces(c)).toEqual(GONE)
})

test('a claim with a marker is not released, nor is the claim of another process', async () => {
  const c = newClaim({ to: ['ann@example.net', 'bob@example.net'] })
  await claim(c)
  expect(await release(database.db, c.messageId, randomUUID())).toBe(false)
  await mark(c.messageId, c.claimId, [1])
  expect(await release(database.db, c.messageId, c.claimId)).toBe(false)
  expect(await traces(c)).toEqual({ ...GONE, open: 1, openRecipients: 2 })
})

test('a marker whose dot was refused is taken back with the next one, and then leaves no doubt', async () => {
  const c = newClaim({ to: ['ann@example.net', 'bob@example.net'] })
  await claim(c)
  await mark(c.messageId, c.claimId, [0, 1])
  expect(await mark(c.messageId, c.claimId, [0], [1])).toBe(true)
  await endLease(c)
  await sweep(database.db)
  const outcomes = await storedOutcomes(database.db, c.messageId)
  expect(outcomes.map(({ reason, inDoubt }) => [reason, inDoubt])).toEqual([
    [Reason.CONNECTION_TIMEOUT, true],
    [Reason.TEMPORARY_FAILURE, undefined],
  ])
})

test('a crashed send without a marker is deleted after its lease, as if the request had never come', async () => {
  const c = newClaim()
  await claim(c)
  await sweep(database.db)
  expect(await traces(c)).toEqual({ ...GONE, open: 1, openRecipients: 1 })
  await endLease(c)
  await sweep(database.db)
  expect(await traces(c)).toEqual(GONE)
})

test('after a crash, recipients with a marker are in doubt, and the others of the message are temporary failures', async () => {
  const c = newClaim({ to: ['ann@example.net', 'bob@example.net'] })
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
  const c = newClaim({ to: ['ann@example.net', 'bob@example.net'] })
  await claim(c)
  await endLease(c)
  const { promise: swept, resolve } = Promise.withResolvers<unknown>()
  await database.db.transaction(async (tx) => {
    const second = and(eq(openRecipients.messageId, c.messageId), eq(openRecipients.position, 1))
    await tx.update(openRecipients).set({ markedAt: sql`now()` }).where(second)
    sweep(database.db).then(resolve)
    await letArrive(100)
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

test('a statement with one row that PostgreSQL refuses stores all the others', async () => {
  const claims = Array.from({ length: 30 }, () => newClaim())
  claims[17]!.recipients[0]!.email = 'nul\0@example.net'
  const results = await Promise.allSettled(claims.map((c) => claim(c)))
  expect(results.filter((result) => result.status === 'rejected')).toHaveLength(1)
  expect(results[17]!.status).toBe('rejected')
})

test('a marker that PostgreSQL refuses for its row says nothing of other markers', async () => {
  const c = newClaim()
  await claim(c)
  const mayMark = await refuseRows(database.db, 'update on', 'open_recipients', '23514')
  const ends = endsOfSteps(database.db)
  await expect(mark(c.messageId, c.claimId, [0])).rejects.toThrow('not now')
  await mayMark()
  expect(ends).toEqual(['refused'])
})

test('a marker that could not be stored for another cause says that others cannot be either', async () => {
  const c = newClaim()
  await claim(c)
  await run(database.db, 'alter table open_recipients rename column claim to renamed')
  const ends = endsOfSteps(database.db)
  await expect(mark(c.messageId, c.claimId, [0])).rejects.toThrow('claim')
  await run(database.db, 'alter table open_recipients rename column renamed to claim')
  expect(ends).toEqual(['failed'])
})

test('a marker that gave up a lock tries again until it has it', async () => {
  const c = newClaim()
  await claim(c)
  const db = connect(database.url, { lockMs: 100 })
  const marked = Promise.withResolvers<boolean>()
  await database.db.transaction(async (tx) => {
    await tx.update(openRecipients).set({ markedAt: null }).where(eq(openRecipients.messageId, c.messageId))
    createMarker(db)(c.messageId, c.claimId, [0]).then(marked.resolve, marked.reject)
    // Longer than the marker waits for a lock.
    await takes(300, undefined)
  })
  expect(await marked.promise).toBe(true)
  await db.$client.end()
})
