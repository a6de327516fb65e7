import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { createKey } from '../../../server/access/api-keys.ts'
import { SCOPES } from '../../../server/access/scopes.ts'
import { eq, sql } from '../../../server/db/drizzle.ts'
import { newId } from '../../../server/db/ids.ts'
import { idempotencyKeys, openMessages, openRecipients } from '../../../server/db/schema.ts'
import { startApi } from '../api.ts'

const api = await startApi()
beforeEach(() => api.world.exchanger.reset())

const TO = 'ann@example.net'
const send = (key: string, change: object = {}, headers: Record<string, string> = {}, apiKey?: string) =>
  api.send({ to: TO, ...change }, { 'idempotency-key': key, ...headers }, apiKey)
const mails = () => api.world.exchanger.messages.length

test('a repeat returns the original response byte for byte, says so, and sends nothing', async () => {
  const first = await send('order-1')
  const repeat = await send('order-1')
  expect(first.json.status).toBe('delivered')
  expect([first.headers.get('idempotent-replayed'), repeat.headers.get('idempotent-replayed')]).toEqual([null, 'true'])
  expect(repeat.text).toBe(first.text)
  expect(repeat.headers.get('idempotency-mismatch')).toBeNull()
  expect(mails()).toBe(1)
})

test.each(['bounced', 'rejected', 'dry run'])(
  'the repeat of a send that was %s is byte-identical too',
  async (kind) => {
    const to = { bounced: 'policy_block', rejected: 'suppression_list', 'dry run': 'mailbox_full' }[kind]
    const headers: Record<string, string> = kind === 'dry run' ? { 'x-service-sandbox': 'true' } : {}
    const change = { to: [`${to}@simulator.test`, 'delivered@simulator.test'] }
    const first = await send(`kind-${kind}`, change, headers)
    expect((await send(`kind-${kind}`, change, headers)).text).toBe(first.text)
  },
)

test('another body gets the original response too, and Idempotency-Mismatch says that the body differs', async () => {
  const first = await send('order-2')
  for (const change of [{ subject: 'Another' }, { to: 'not an address' }, { from: 'a@elsewhere.test' }]) {
    const repeat = await send('order-2', change)
    expect(repeat.text).toBe(first.text)
    expect(repeat.headers.get('idempotency-mismatch')).toBe('body')
  }
  expect(mails()).toBe(1)
})

test('a body whose pairs are in another order is the same body: some gRPC clients write them anew each time', async () => {
  const first = await send('order-2b', { metadata: { a: '1', b: '2' }, headers: { 'X-A': '1', 'X-B': '2' } })
  const repeat = await send('order-2b', { metadata: { b: '2', a: '1' }, headers: { 'X-B': '2', 'X-A': '1' } })
  expect([repeat.text, repeat.headers.get('idempotency-mismatch')]).toEqual([first.text, null])
  const other = await send('order-2b', { metadata: { a: '2', b: '1' }, headers: { 'X-A': '1', 'X-B': '2' } })
  expect([other.text, other.headers.get('idempotency-mismatch')]).toEqual([first.text, 'body'])
})

test('4xx and 500 leave the key free', async () => {
  expect((await send('order-3', { to: 'nobody' })).status).toBe(400)
  expect((await send('order-3', { from: 'a@elsewhere.test' })).status).toBe(403)
  api.world.dns.zone['MX broken.org'] = 'servfail'
  expect((await send('order-3', { to: 'ann@broken.org' })).status).toBe(500)
  expect((await send('order-3')).json.status).toBe('delivered')
  expect(mails()).toBe(1)
})

test('200 concurrent requests with one key: one mail, equal bodies', async () => {
  api.world.exchanger.script = { dot: { after: 300, act: '250 2.0.0 ok' } }
  const answers = await Promise.all(Array.from({ length: 200 }, () => send('order-4')))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
  expect(mails()).toBe(1)
})

test('concurrent invalid requests with one key get the error of the first, and the key stays free', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => send('order-5', { to: 'nobody' })))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400))
  expect((await send('order-5')).json.status).toBe('delivered')
})

test('the error of one body is not the error of another', async () => {
  const [bad, good] = await Promise.all([send('order-6', { to: 'nobody' }), send('order-6')])
  expect(good.status).toBe(200)
  // Either of them may arrive first. The faulty one is then a repeat of the other.
  if (bad.status === 200) expect(bad.json).toEqual(good.json)
  else expect(bad.status).toBe(400)
})

test('live and sandbox, send and validate, and two accounts never share a key', async () => {
  const live = await send('order-7')
  const sandbox = await send('order-7', {}, { 'x-service-sandbox': 'true' })
  const validated = await api.call('POST', '/api/v1/emails/validate', {
    headers: { 'idempotency-key': 'order-7' },
    body: { to: TO, from: 'hello@example.test', subject: 'Hello', text: 'Hi' },
  })
  const stranger = await send('order-7', {}, {}, api.keys.stranger)
  const ids = [live, sandbox, validated].map(({ json }) => json.message_id)
  expect(new Set(ids).size).toBe(3)
  expect(stranger.json.error).toBe('domain_not_verified')
  expect(mails()).toBe(1)
})

test("another API key of the account keeps the account's idempotency keys", async () => {
  const first = await send('order-8')
  const { world } = api
  const rotated = await createKey(world.db, world.clock, {
    accountId: world.account.id,
    name: 'rotated',
    kind: 'live',
    scopes: SCOPES,
  })
  expect((await send('order-8', {}, {}, rotated.key)).text).toBe(first.text)
})

test('a key is 1 to 256 printable ASCII characters, else 400 invalid_payload', async () => {
  for (const key of ['', 'x'.repeat(257), 'tab\there', 'caf\u00e9']) {
    const { status, json } = await send(key)
    expect([status, json.error, json.details[0].field]).toEqual([400, 'invalid_payload', 'Idempotency-Key'])
  }
  expect((await send('x'.repeat(256))).status).toBe(200)
})

test("a key expires 24 hours after its first request, by the database's clock. Then the request is sent anew", async () => {
  const { db } = api.world
  const first = await send('order-9')
  const isKey = eq(idempotencyKeys.key, 'order-9')
  const age = (time: string) =>
    db
      .update(idempotencyKeys)
      .set({ expiresAt: sql`now() + interval '24 hours' - ${time}::interval` })
      .where(isKey)
  const minutes = sql<number>`round(extract(epoch from ${idempotencyKeys.expiresAt} - now()) / 60)::int`
  const [row] = await db.select({ minutes }).from(idempotencyKeys).where(isKey)
  expect(row!.minutes).toBe(24 * 60)
  await age('23:59:50')
  expect((await send('order-9')).text).toBe(first.text)
  await age('24:00:01')
  const anew = await send('order-9')
  expect(anew.json.message_id).not.toBe(first.json.message_id)
  expect((await send('order-9')).text).toBe(anew.text)
  expect(mails()).toBe(2)
})

test('a send that died before its marker leaves its key to a waiting request; after the marker the response is in doubt', async () => {
  const { db, account } = api.world
  for (const marked of [false, true]) {
    const id = newId(Date.now())
    const key = `died-${marked}`
    const lease = { claim: randomUUID(), leaseUntil: new Date(api.world.clock.now() + 300) }
    const request = { from: 'hello@example.test', to: [TO], subject: 'Hello', headers: [], attachments: [] }
    const message = { id, accountId: account.id, createdAt: new Date(), region: 'eu', domain: 'example.test', request }
    await db.insert(openMessages).values({ ...message, ...lease, keyScope: 'send/live', key })
    const { accountId } = message
    const recipient = { messageId: id, accountId, position: 0, eventId: newId(Date.now()), email: TO }
    await db.insert(openRecipients).values({ ...recipient, ...lease, markedAt: marked ? sql`now()` : null })
    const keyRow = { accountId: account.id, scope: 'send/live', key, messageId: id, requestHash: Buffer.of(0) }
    await db.insert(idempotencyKeys).values({ ...keyRow, expiresAt: sql`now() + interval '24 hours'` })
    const { json, headers } = await send(key)
    expect(json).toMatchObject(marked ? { reason: 'connection_timeout', in_doubt: true } : { status: 'delivered' })
    expect(headers.get('idempotent-replayed')).toBe(marked ? 'true' : null)
    expect(headers.get('idempotency-mismatch')).toBe(marked ? 'body' : null)
  }
  expect(mails()).toBe(1)
})

test('a send with a key goes on when its caller leaves', async () => {
  const { exchanger } = api.world
  const leaving = new AbortController()
  exchanger.script = {
    rcpt: () => {
      leaving.abort()
      return undefined
    },
  }
  const request = { to: TO, from: 'hello@example.test', subject: 'Hello', text: 'Hi' }
  await fetch(`${api.url}/api/v1/emails/send`, {
    method: 'POST',
    signal: leaving.signal,
    headers: {
      authorization: `Bearer ${api.keys.live}`,
      'content-type': 'application/json',
      'idempotency-key': 'left',
    },
    body: JSON.stringify(request),
  }).catch(() => {})
  const repeat = await send('left')
  expect([repeat.json.status, repeat.headers.get('idempotent-replayed')]).toEqual(['delivered', 'true'])
  expect(mails()).toBe(1)
})
