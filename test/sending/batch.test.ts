import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { BatchItemSchema, SendResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { ErrorReason } from '../../gen/verdict/v1/errors_pb.ts'
import { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import { FairTurns } from '../../net/fair-turns.ts'
import { CALL_TIMES, leaseOf } from '../../server/config/limits.ts'
import { fail, OutcomeUnknown } from '../../server/errors.ts'
import { type BatchOptions, type BatchParts, createBatch } from '../../server/sending/batch.ts'
import { createBatchIdempotency } from '../../server/sending/batch-idempotency.ts'
import { createIdempotency } from '../../server/sending/idempotency.ts'
import type { Message } from '../../server/sending/message.ts'
import { aroundStatements } from '../harness/around-statements.ts'
import { testDatabase } from '../harness/postgres.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { takes } from '../harness/waits.ts'

// A batch whose sends end as each test defines.

const database = await testDatabase()

const ACCOUNT = '00000000-0000-4000-8000-000000000001'
const items = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    create(BatchItemSchema, { to: [`ann${i}@example.net`], from: 'a@example.test', subject: 'Hello', text: 'Hi' }),
  )
const delivered = () => create(SendResponseSchema, { status: DeliveryStatus.DELIVERED, messageId: 'msg_1' })

function batchOf(
  send: (message: Message, index: number) => Promise<void>,
  { stopping = new AbortController().signal, ...parts }: Partial<BatchParts> = {},
) {
  let started = 0
  let running = 0
  let most = 0
  const sendBatch = createBatch({
    async send(message) {
      const index = started++
      most = Math.max(most, ++running)
      await send(message, index).finally(() => running--)
      return delivered()
    },
    idempotency: createIdempotency(database.db, leaseOf(30_000)),
    turns: new FairTurns(),
    stopping,
    ...parts,
  })
  const run = (count: number, options: Partial<BatchOptions> = {}) =>
    sendBatch(items(count), {
      accountId: ACCOUNT,
      sandbox: false,
      faults: new Map(),
      signal: new AbortController().signal,
      ...options,
    })
  return { run, started: () => started, most: () => most }
}

const NOT_STARTED = { error: ErrorReason.TRANSIENT_FAILURE, message: expect.stringContaining('not started') }

test('25 messages of a batch are sent at a time, and no more', async () => {
  const { run, most } = batchOf(() => takes(5))
  const { response, isFinal } = await run(100)
  expect([most(), response.summary!.delivered, isFinal]).toEqual([25, 100, true])
})

test('batches of one account send as many messages at a time as they leave places for others', async () => {
  const { run, most } = batchOf(() => takes(5), { allMessages: 60 })
  const crowd = Array.from({ length: 4 }, () => run(50))
  const other = run(10, { accountId: 'other' })
  expect((await other).response.summary!.delivered).toBe(10)
  expect(most()).toBeLessThanOrEqual(40)
  for (const { response } of await Promise.all(crowd)) expect(response.summary!.delivered).toBe(50)
})

test('a message that is not started within the time of its batch is transient_failure, and a repeat may send it', async () => {
  const { run, started } = batchOf(() => takes(600), { startMs: 500 })
  const { response, isFinal } = await run(40)
  expect([started(), isFinal]).toEqual([25, false])
  expect(response.summary).toMatchObject({ total: 40, delivered: 25, failed: 15 })
  expect(response.results[25]).toMatchObject({ index: 25, ...NOT_STARTED })
  expect(response.results[25]!.message).toContain('the 0.5 s of its batch were over')
})

test('no further message starts when the caller has left or the server shuts down; running sends end', async () => {
  const causes = { caller: 'the caller left', server: 'this server is shutting down' }
  for (const [who, cause] of Object.entries(causes)) {
    const leaving = new AbortController()
    const stopping = who === 'server' ? leaving.signal : undefined
    const { run, started } = batchOf(async () => leaving.abort(), { stopping })
    const { response } = await run(40, who === 'caller' ? { signal: leaving.signal } : {})
    expect(started()).toBe(1)
    expect(response.results[0]!.status).toBe(DeliveryStatus.DELIVERED)
    expect(response.results.slice(1)).toMatchObject(Array(39).fill(NOT_STARTED))
    expect(response.results[1]!.message).toContain(cause)
  }
})

test('an unexpected fault is transient_failure without detail, and its cause is for the log', async () => {
  const cause = new Error('secret')
  const { run } = batchOf(async (_, index) => {
    if (index === 1) throw cause
  })
  const batch = await run(3)
  expect(batch.response.results.map(({ error }) => error)).toEqual([
    undefined,
    ErrorReason.TRANSIENT_FAILURE,
    undefined,
  ])
  expect(batch.response.results[1]!.message).not.toContain('secret')
  expect([batch.cause, batch.isFinal]).toEqual([cause, false])
})

test.each([
  ['rate_limit_exceeded', false],
  ['transient_failure', false],
  ['invalid_address', true],
] as const)('a batch with a message that failed with %s: it is final: %s', async (reason, isFinal) => {
  const { run } = batchOf(async () => {
    throw fail(reason, 'no')
  })
  expect((await run(1)).isFinal).toBe(isFinal)
})

test('when a message ends with OutcomeUnknown, so does the whole batch, after all others have ended', async () => {
  const ends: number[] = []
  const { run } = batchOf(async (_, index) => {
    await takes(index * 10)
    ends.push(index)
    if (index === 0) throw new OutcomeUnknown({ cause: new Error('gone') })
  })
  await expect(run(3)).rejects.toThrow(OutcomeUnknown)
  expect(ends).toEqual([0, 1, 2])
})

test('a key whose batch ended with OutcomeUnknown is free at once: a repeat sends its messages again', async () => {
  const batchIdempotency = createBatchIdempotency(database.db, leaseOf(30_000))
  const key = { accountId: ACCOUNT, scope: 'sendBatch/live', key: 'k', requestHash: '00', sandbox: false }
  const failing = batchOf(async () => {
    throw new OutcomeUnknown({ cause: new Error('gone') })
  })
  await expect(batchIdempotency.once(key, () => failing.run(1))).rejects.toThrow(OutcomeUnknown)
  const { run } = batchOf(async () => {})
  const watch = stopwatch()
  const { response, replayed } = await batchIdempotency.once(key, () => run(1))
  expect([response.summary!.delivered, replayed]).toEqual([1, false])
  // The lease of the failed claim is 30 s.
  expect(watch.ms()).toBeLessThan(1_000)
  expect((await batchIdempotency.once(key, () => run(1))).replayed).toBe(true)
})

test('a key is free at once when the response to its taking was lost', async () => {
  let lost = 0
  const losing = aroundStatements(database.db, async (statement, run) => {
    const rows = await run()
    if (statement.includes('insert into batch_keys') && lost++ === 0) throw new Error('connection lost')
    return rows
  })
  const batchIdempotency = createBatchIdempotency(losing, leaseOf(30_000))
  const key = { accountId: ACCOUNT, scope: 'sendBatch/live', key: 'lost', requestHash: '00', sandbox: false }
  const { run, started } = batchOf(async () => {})
  await expect(batchIdempotency.once(key, () => run(1))).rejects.toThrow('connection lost')
  expect(started()).toBe(0)
  const watch = stopwatch()
  expect((await batchIdempotency.once(key, () => run(1))).replayed).toBe(false)
  // The lease of the lost claim is 30 s.
  expect(watch.ms()).toBeLessThan(1_000)
})

test('a batch holds its key for as long as its sends may begin and run', async () => {
  const batchIdempotency = createBatchIdempotency(database.db, leaseOf(30_000))
  const key = { accountId: ACCOUNT, scope: 'sendBatch/live', key: 'held', requestHash: '00', sandbox: false }
  let heldMs = 0
  const { run } = batchOf(async () => {
    const [row] = await database.db.$client`
      select (extract(epoch from lease_until - clock_timestamp()) * 1000)::float8 as ms from batch_keys
      where key = 'held'`
    heldMs = row!.ms
  })
  await batchIdempotency.once(key, () => run(1))
  const longestMs = CALL_TIMES.batchStartMs + leaseOf(30_000)
  expect(heldMs).toBeLessThanOrEqual(longestMs)
  expect(heldMs).toBeGreaterThan(longestMs - 5_000)
})
