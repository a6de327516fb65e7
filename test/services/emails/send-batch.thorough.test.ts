import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { createContextValues, createHandlerContext } from '@connectrpc/connect'
import { beforeEach, expect, test } from 'vitest'
import {
  EmailService,
  SendBatchRequestSchema,
  SendBatchResponseSchema,
  SendRequestSchema,
} from '../../../gen/verdict/v1/emails_pb.ts'
import { ErrorReason } from '../../../gen/verdict/v1/errors_pb.ts'
import { DeliveryStatus } from '../../../gen/verdict/v1/outcomes_pb.ts'
import { FairTurns } from '../../../net/fair-turns.ts'
import { callerKey, logFieldsKey } from '../../../server/caller.ts'
import { leaseOf } from '../../../server/config/limits.ts'
import { eq, sql } from '../../../server/db/drizzle.ts'
import { batchKeys, warmUps } from '../../../server/db/schema.ts'
import { createBatch, derivedKey } from '../../../server/sending/batch.ts'
import { type BatchIdempotency, createBatchIdempotency } from '../../../server/sending/batch-idempotency.ts'
import { createIdempotency } from '../../../server/sending/idempotency.ts'
import { hashOf } from '../../../server/sending/idempotency-key.ts'
import { readSendRequest } from '../../../server/sending/message.ts'
import { createSendBatch } from '../../../server/services/emails/send-batch.ts'
import { takes } from '../../harness/waits.ts'
import { startApi } from '../api.ts'

const api = await startApi()
beforeEach(() => api.world.exchanger.reset())

const PATH = '/api/v1/emails/batch'
const item = (change: object = {}) => ({
  to: 'ann@example.net',
  from: 'hello@example.test',
  subject: 'Hello',
  text: 'Hi',
  ...change,
})
const batch = (body: unknown, headers: Record<string, string> = {}, key?: string) =>
  api.call('POST', PATH, { body, headers, key })
const keyed = (key: string, body: unknown) => batch(body, { 'idempotency-key': key })
const mails = () => api.world.exchanger.messages.length
/** Makes the DNS of a domain fail until it is repaired. */
function breakDns(domain: string): { repair(): void } {
  const { zone } = api.world.dns
  zone[`MX ${domain}`] = 'servfail'
  return {
    repair() {
      zone[`MX ${domain}`] = [
        { type: 'MX', name: domain, ttl: 300, data: { preference: 10, exchange: 'mx.example.net' } },
      ]
    },
  }
}

test('the results are in the order of the request, whichever send ends first', async () => {
  const to = ['connection_timeout', 'delivered', 'mailbox_full', 'suppression_list', 'spam_blocked']
  const { status, json } = await batch({ emails: to.map((name) => item({ to: `${name}@simulator.test` })) })
  expect(status).toBe(200)
  expect(json.results.map((result: object) => Object.entries(result)[0])).toEqual(to.map((_, i) => ['index', i]))
  expect(json.results.map(({ status, reason }: Record<string, string>) => reason ?? status)).toEqual(to)
  expect(json.summary).toEqual({ total: 5, delivered: 1, bounced: 3, rejected: 1, failed: 0 })
  expect(new Set(json.results.map(({ message_id }: { message_id: string }) => message_id)).size).toBe(5)
})

test.each<[what: string, email: unknown, error: string, field: string]>([
  ['a wrong type', item({ to: 5 }), 'invalid_payload', 'to'],
  ['a wrong type in a list', item({ to: ['a@example.net', 5] }), 'invalid_payload', 'to[1]'],
  ['an unknown field', item({ replyto: 'a@example.test' }), 'invalid_payload', 'replyto'],
  ['bad base64', item({ attachments: [{ filename: 'a', content: '!' }] }), 'invalid_payload', 'attachments[0].content'],
  ['a NUL character', item({ subject: 'a\0b' }), 'invalid_payload', 'subject'],
  ['half a surrogate pair', item({ headers: { 'X-Half': '\ud800' } }), 'invalid_payload', 'headers["X-Half"]'],
  ['an empty object', {}, 'invalid_payload', 'to'],
  ['a field that is missing', item({ subject: undefined }), 'invalid_payload', 'subject'],
  ['no recipient', item({ to: [] }), 'invalid_payload', 'to'],
  ['an address that is none', item({ to: 'nobody' }), 'invalid_address', 'to'],
  ['an empty key', item({ idempotency_key: '' }), 'invalid_payload', 'idempotency_key'],
  ['a key of 257 characters', item({ idempotency_key: 'x'.repeat(257) }), 'invalid_payload', 'idempotency_key'],
  ['a key that is not ASCII', item({ idempotency_key: 'caf\u00e9' }), 'invalid_payload', 'idempotency_key'],
  ['null', null, 'invalid_payload', 'emails[1]'],
  ['a text', 'ann@example.net', 'invalid_payload', 'emails[1]'],
  ['a list', [item()], 'invalid_payload', 'emails[1]'],
])('%s is the error of its message, and the others are sent', async (_, email, error, field) => {
  const { status, json } = await batch({ emails: [item({ to: 'delivered@simulator.test' }), email, item()] })
  expect(status).toBe(200)
  const [first, bad, last] = json.results
  expect([first, last]).toMatchObject([
    { index: 0, status: 'delivered' },
    { index: 2, status: 'delivered' },
  ])
  expect(bad).toMatchObject({ index: 1, error })
  expect(bad.details[0].field).toBe(field)
  expect(bad.message).toContain(field)
  expect(Object.keys(bad)).toEqual(['index', 'error', 'message', 'details'])
  expect(Object.keys(first)).not.toContain('error')
  expect(json.summary).toEqual({ total: 3, delivered: 2, bounced: 0, rejected: 0, failed: 1 })
  expect(mails()).toBe(1)
})

test('a message with many faults does not hide those of the next', async () => {
  const many = item(Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`unknown_${i}`, 1])))
  const { json } = await batch([many, item({ subject: 5 }), item({ subject: '\0' })])
  expect(json.results.map(({ error }: { error: string }) => error)).toEqual(Array(3).fill('invalid_payload'))
  expect(mails()).toBe(0)
})

test("a From domain that is not the account's, or not verified, is rejected, and the message is stored", async () => {
  const { json } = await batch([item({ from: 'a@elsewhere.test' }), item({ from: 'a@pending.test' })])
  const detail = expect.stringMatching(
    /^(elsewhere|pending)\.test is not a verified domain of this account\. POST \/api/,
  )
  expect(json.results).toMatchObject(Array(2).fill({ status: 'rejected', reason: 'domain_not_verified', detail }))
  const stored = await api.call('GET', `/api/v1/emails/${json.results[0].message_id}`)
  expect(stored.json).toMatchObject({ status: 'rejected', reason: 'domain_not_verified', from: 'a@elsewhere.test' })
  expect(mails()).toBe(0)
})

test('an internal fault at one message is its transient_failure, and the others are sent', async () => {
  breakDns('broken.org')
  const { json } = await batch([item(), item({ to: 'ann@broken.org' })])
  expect(json.results).toMatchObject([{ status: 'delivered' }, { error: 'transient_failure' }])
  expect(mails()).toBe(1)
})

test('the body may be the bare list', async () => {
  const { status, json } = await batch([item(), item({ to: 'nobody' })])
  expect([status, json.summary]).toEqual([200, { total: 2, delivered: 1, bounced: 0, rejected: 0, failed: 1 }])
})

test('a batch holds 1 to 100 messages', async () => {
  const many = (length: number) => Array.from({ length }, () => item({ to: 'delivered@simulator.test' }))
  for (const body of [{ emails: [] }, [], {}, { emails: null }, many(101), { emails: many(101) }]) {
    const { status, json } = await batch(body)
    expect([status, json.error, json.details[0].field]).toEqual([400, 'invalid_payload', 'emails'])
  }
  const { json } = await batch(many(100))
  expect(json.summary).toMatchObject({ total: 100, delivered: 100 })
})

test.each<[what: string, body: unknown]>([
  ['a text', 'text'],
  ['null', null],
  ['an object without a list', { emails: {} }],
  ['an unknown field', { emails: [item()], mails: [] }],
])('a body that is %s is 400 invalid_payload, and nothing is sent', async (_, body) => {
  const { status, json } = await batch(body)
  expect([status, json.error]).toEqual([400, 'invalid_payload'])
  expect(mails()).toBe(0)
})

test('a repeated batch gets the original response byte for byte, is told so, and sends nothing', async () => {
  const emails = [item(), item({ to: 'policy_block@simulator.test' }), item({ to: 'nobody' })]
  const first = await keyed('batch-1', { emails })
  const repeat = await keyed('batch-1', { emails })
  expect([first.headers.get('idempotent-replayed'), repeat.headers.get('idempotent-replayed')]).toEqual([null, 'true'])
  expect(repeat.text).toBe(first.text)
  expect(repeat.headers.get('idempotency-mismatch')).toBeNull()
  const other = await keyed('batch-1', [item()])
  expect([other.text, other.headers.get('idempotency-mismatch')]).toEqual([first.text, 'body'])
  expect(mails()).toBe(1)
})

test('a repeat runs the messages that failed with an internal fault, and no others', async () => {
  const { repair } = breakDns('later.org')
  const emails = [item(), item({ to: 'ann@later.org' }), item({ to: 'nobody' })]
  const first = await keyed('batch-2', emails)
  expect(first.json.results[1].error).toBe('transient_failure')
  const still = await keyed('batch-2', emails)
  expect([still.text, still.headers.get('idempotent-replayed')]).toEqual([first.text, null])
  repair()
  const second = await keyed('batch-2', emails)
  expect(second.headers.get('idempotent-replayed')).toBeNull()
  expect(second.json.results[0]).toEqual(first.json.results[0])
  expect(second.json.results[1].status).toBe('delivered')
  expect(mails()).toBe(2)
  const third = await keyed('batch-2', emails)
  expect([third.text, third.headers.get('idempotent-replayed')]).toEqual([second.text, 'true'])
})

test('messages over the warm-up of their domain are 429 with retry_after; a repeat sends them', async () => {
  const { db, account } = api.world
  const sent = (emails: number) =>
    db
      .insert(warmUps)
      .values({ accountId: account.id, domain: 'example.test', day: sql`(now() at time zone 'utc')::date`, emails })
      .onConflictDoUpdate({ target: [warmUps.accountId, warmUps.domain, warmUps.day], set: { emails } })
  await sent(498)
  const emails = Array.from({ length: 5 }, () => item())
  const { json } = await keyed('batch-3', emails)
  expect(json.summary).toEqual({ total: 5, delivered: 2, bounced: 0, rejected: 0, failed: 3 })
  const failed = json.results.filter((result: { error?: string }) => result.error)
  for (const { error, retry_after } of failed) {
    expect(error).toBe('rate_limit_exceeded')
    expect(retry_after).toBeGreaterThan(0)
    expect(retry_after).toBeLessThanOrEqual(86_400)
  }
  await sent(0)
  expect((await keyed('batch-3', emails)).json.summary.delivered).toBe(5)
  expect(mails()).toBe(5)
})

test('20 concurrent batches with one key: one mail for each message, equal bodies', async () => {
  api.world.exchanger.script = { dot: { after: 300, act: '250 2.0.0 ok' } }
  const emails = Array.from({ length: 30 }, (_, i) => item({ to: `ann${i}@example.net` }))
  const answers = await Promise.all(Array.from({ length: 20 }, () => keyed('batch-4', emails)))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
  expect(mails()).toBe(30)
})

test('a repeat waits for a batch that another process sends', async () => {
  const elsewhere = createBatchIdempotency(api.world.db, leaseOf(30_000))
  const { response } = await keyedElsewhere(elsewhere, 'batch-5', 500)
  const { json, headers } = await response
  expect([json.results[0].message_id, headers.get('idempotent-replayed')]).toEqual(['msg_elsewhere', 'true'])
  expect(mails()).toBe(0)
})

/** Starts a batch that takes `ms` in another process, and one with the same key here. */
async function keyedElsewhere(elsewhere: BatchIdempotency, key: string, ms: number) {
  const results = [{ index: 0, status: DeliveryStatus.DELIVERED, messageId: 'msg_elsewhere' }]
  const begun = Promise.withResolvers<void>()
  const first = elsewhere.once({ ...batchKey(key), requestHash: '00', sandbox: false }, async () => {
    begun.resolve()
    await takes(ms)
    const response = create(SendBatchResponseSchema, { results, summary: { total: 1, delivered: 1 } })
    return { response, isFinal: true, mismatch: false, refused: [] }
  })
  await begun.promise
  return { response: keyed(key, [item()]).finally(() => first) }
}

const batchKey = (key: string) => ({ accountId: api.world.account.id, scope: 'sendBatch/live', key })

test('a batch whose process died half-way is taken over, and what it sent is not sent again', async () => {
  const { db, account } = api.world
  const request = create(SendRequestSchema, { ...item(), to: ['ann@example.net'] })
  const sent = await api.world.sendWith()(readSendRequest(request), {
    accountId: account.id,
    sandbox: false,
    key: { ...derivedKey('batch-6', 0, false), requestHash: hashOf(SendRequestSchema, request) },
    signal: new AbortController().signal,
  })
  await db.insert(batchKeys).values({
    ...batchKey('batch-6'),
    requestHash: Buffer.of(0),
    claim: randomUUID(),
    leaseUntil: sql`clock_timestamp() + interval '400 ms'`,
    expiresAt: sql`now() + interval '23 hours'`,
  })
  const { json, headers } = await keyed('batch-6', [item(), item({ to: 'bob@example.net' })])
  expect(json.results[0].message_id).toBe(sent!.messageId)
  expect(json.results[1].status).toBe('delivered')
  expect([headers.get('idempotent-replayed'), headers.get('idempotency-mismatch')]).toEqual([null, 'body'])
  expect(mails()).toBe(2)
  const keepsExpiry = sql<boolean>`${batchKeys.expiresAt} < now() + interval '23 hours 1 minute'`
  const [row] = await db.select({ keepsExpiry }).from(batchKeys).where(eq(batchKeys.key, 'batch-6'))
  expect(row!.keepsExpiry).toBe(true)
})

test("a batch's key expires 24 hours after its first request; then everything is sent anew, even what a repeat sent later", async () => {
  const age = (time: string) =>
    api.world.db
      .update(batchKeys)
      .set({ expiresAt: sql`now() + interval '24 hours' - ${time}::interval` })
      .where(eq(batchKeys.key, 'batch-7'))
  const { repair } = breakDns('late.org')
  const emails = [item(), item({ to: 'ann@late.org' })]
  await keyed('batch-7', emails)
  await age('23:59:50')
  repair()
  const first = await keyed('batch-7', emails)
  expect((await keyed('batch-7', emails)).text).toBe(first.text)
  expect(mails()).toBe(2)
  await age('24:00:01')
  const anew = await keyed('batch-7', emails)
  expect(anew.json.summary.delivered).toBe(2)
  expect(anew.headers.get('idempotent-replayed')).toBeNull()
  expect(mails()).toBe(4)
  // The result is the same when the row was deleted meanwhile.
  await api.world.db.delete(batchKeys).where(eq(batchKeys.key, 'batch-7'))
  await keyed('batch-7', emails)
  expect(mails()).toBe(6)
})

test('a message with its own key shares it with Send, live and sandbox apart', async () => {
  const first = await api.send({ to: 'ann@example.net' }, { 'idempotency-key': 'own-1' })
  const { json, headers } = await batch([item({ idempotency_key: 'own-1' }), item({ idempotency_key: 'own-2' })])
  expect(json.results[0].message_id).toBe(first.json.message_id)
  expect(headers.get('idempotency-mismatch')).toBeNull()
  const repeat = await api.send({ to: 'ann@example.net' }, { 'idempotency-key': 'own-2' })
  expect(repeat.json.message_id).toBe(json.results[1].message_id)
  expect(mails()).toBe(2)
  const other = await batch([item({ idempotency_key: 'own-1', subject: 'Another' })])
  expect(other.json.results[0].message_id).toBe(first.json.message_id)
  expect(other.headers.get('idempotency-mismatch')).toBe('body')
  const sandbox = await batch([item({ idempotency_key: 'own-1' })], { 'x-service-sandbox': 'true' })
  expect(sandbox.json.results[0].message_id).not.toBe(first.json.message_id)
})

test('messages of one batch with the same key are one mail, and all have its result', async () => {
  api.world.exchanger.script = { dot: { after: 200, act: '250 2.0.0 ok' } }
  const { json } = await batch(Array.from({ length: 100 }, () => item({ idempotency_key: 'own-3' })))
  expect(json.summary.delivered).toBe(100)
  expect(new Set(json.results.map(({ message_id }: { message_id: string }) => message_id)).size).toBe(1)
  expect(mails()).toBe(1)
})

test('a key derived for a message is never the key of a caller, however long the key of the batch', async () => {
  const long = 'x'.repeat(256)
  await keyed(long, [item()])
  expect((await keyed(long, [item()])).headers.get('idempotent-replayed')).toBe('true')
  await keyed('batch-8', [item()])
  const sent = await api.send({ to: 'ann@example.net' }, { 'idempotency-key': 'batch-8#0' })
  const same = await api.send({ to: 'ann@example.net' }, { 'idempotency-key': 'batch-8' })
  expect([sent, same].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, null])
  expect(mails()).toBe(4)
})

test('without any key every batch is sent', async () => {
  for (let i = 0; i < 2; i++) await batch([item()])
  expect(mails()).toBe(2)
})

test('a bad header is a 400 of the whole batch', async () => {
  for (const [name, value] of [
    ['idempotency-key', 'x'.repeat(257)],
    ['x-service-sandbox', 'yes'],
  ] as const) {
    const { status, json } = await batch([item()], { [name]: value })
    expect([status, json.error]).toEqual([400, 'invalid_payload'])
  }
  expect(mails()).toBe(0)
})

test.each(['the header', 'a test key'])('with %s a batch is a dry run of all its messages', async (how) => {
  const headers: Record<string, string> = how === 'the header' ? { 'x-service-sandbox': 'true' } : {}
  const key = how === 'a test key' ? api.keys.test : undefined
  const emails = [item(), item({ from: 'a@elsewhere.test' }), item({ to: 'nobody' })]
  const first = await batch(emails, { 'idempotency-key': `dry-${how}`, ...headers }, key)
  expect(first.json.results).toMatchObject([
    { status: 'delivered', sandbox: true },
    { status: 'rejected', sandbox: true, checks: [{ name: 'payload' }, { name: 'domain', passed: false }] },
    { error: 'invalid_address' },
  ])
  const repeat = await batch(emails, { 'idempotency-key': `dry-${how}`, ...headers }, key)
  expect(repeat.text).toBe(first.text)
  const live = await keyed(`dry-${how}`, [item()])
  expect(live.headers.get('idempotent-replayed')).toBeNull()
  expect(mails()).toBe(1)
})

test('over gRPC the response is the same, and a text that cannot be stored is the error of its message too', async () => {
  const client = api.grpc(EmailService)
  const emails = [item(), item({ subject: 'a\0b' }), item({ to: 'mailbox_full@simulator.test' })]
  const first = await keyed('batch-9', { emails })
  let replayed: string | null = null
  const request = { emails: emails.map(({ to, ...email }) => ({ to: [to], ...email })) }
  const { results, summary } = await client.sendBatch(request, {
    headers: { 'idempotency-key': 'batch-9' },
    onHeader: (header) => {
      replayed = header.get('idempotent-replayed')
    },
  })
  expect(replayed).toBe('true')
  expect(results.map(({ index, messageId }) => [index, messageId])).toEqual(
    first.json.results.map(({ index, message_id }: Record<string, unknown>) => [index, message_id]),
  )
  expect(results.map(({ status, error }) => [status, error])).toEqual([
    [DeliveryStatus.DELIVERED, undefined],
    [undefined, ErrorReason.INVALID_PAYLOAD],
    [DeliveryStatus.BOUNCED, undefined],
  ])
  expect(summary).toMatchObject({ total: 3, delivered: 1, bounced: 1, rejected: 0, failed: 1 })
  const own = await client.sendBatch(request)
  expect(own.results.map(({ error }) => error)).toEqual([undefined, ErrorReason.INVALID_PAYLOAD, undefined])
  expect(own.results[1]!.details).toMatchObject([{ field: 'subject' }])
})

test('a batch with a key goes on when its caller leaves', async () => {
  const leaving = new AbortController()
  api.world.exchanger.script = {
    rcpt: () => {
      leaving.abort()
      return undefined
    },
  }
  const emails = Array.from({ length: 40 }, () => item())
  await fetch(api.url + PATH, {
    method: 'POST',
    signal: leaving.signal,
    headers: {
      authorization: `Bearer ${api.keys.live}`,
      'content-type': 'application/json',
      'idempotency-key': 'batch-10',
    },
    body: JSON.stringify(emails),
  }).catch(() => {})
  const repeat = await keyed('batch-10', emails)
  expect([repeat.json.summary.delivered, repeat.headers.get('idempotent-replayed')]).toEqual([40, 'true'])
  expect(mails()).toBe(40)
})

test('a batch counts as one request for the rate limit', async () => {
  const remaining = async () => Number((await batch([item(), item(), item()])).headers.get('x-ratelimit-remaining'))
  const before = await remaining()
  expect(before - (await remaining())).toBe(1)
})

test('the line of a batch in the log has counts and no address', async () => {
  const log = {}
  const contextValues = createContextValues()
    .set(callerKey, { accountId: api.world.account.id, keyId: 'key_1', test: false })
    .set(logFieldsKey, log)
  const context = createHandlerContext({
    service: EmailService,
    method: EmailService.method.sendBatch,
    protocolName: 'test',
    requestMethod: 'POST',
    url: 'http://localhost/',
    contextValues,
  })
  const send = api.world.sendWith()
  const idempotency = createIdempotency(api.world.db, leaseOf(30_000))
  const sendBatch = createSendBatch({
    sendBatch: createBatch({ send, idempotency, turns: new FairTurns(), stopping: new AbortController().signal }),
    batchIdempotency: createBatchIdempotency(api.world.db, leaseOf(30_000)),
    refusedSends: { note() {} },
  })
  const emails = ['ann@example.net', 'mailbox_full@simulator.test', 'nobody'].map((to) => ({ ...item(), to: [to] }))
  await sendBatch(create(SendBatchRequestSchema, { emails }), context)
  expect(log).toEqual({ sandbox: false, total: 3, delivered: 1, bounced: 1, rejected: 0, failed: 1 })
})
