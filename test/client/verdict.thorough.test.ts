import { readFileSync } from 'node:fs'
import { expect, expectTypeOf, test } from 'vitest'
import { ROUTES } from '../../client/gen/contract.ts'
import {
  type BounceReason,
  type FeedbackKind,
  type RejectionReason,
  type SmtpEvidence,
  Verdict,
  VerdictError,
  type VerdictOptions,
} from '../../client/verdict.ts'
import { script } from '../sending/world.ts'
import { startApi } from '../services/api.ts'

// The client against the real API. retry.test.ts has the faults.

const api = await startApi()

const client = (options: Partial<VerdictOptions> = {}) =>
  new Verdict({ url: api.url, apiKey: api.keys.live, ...options })
const verdict = client()

const MESSAGE = { from: 'hello@example.test', to: 'delivered@simulator.test', subject: 'Hello', text: 'Hi' }

/** The error of a call that must fail. */
const faultOf = (call: Promise<unknown>): Promise<VerdictError> =>
  call.then(
    () => expect.unreachable(),
    (error) => error,
  )

test('a send returns the outcome, and its status says which fields it has', async () => {
  const outcome = await verdict.emails.send(MESSAGE)
  expect(outcome).toMatchObject({
    status: 'delivered',
    message_id: expect.stringMatching(/^msg_/),
    smtp: { code: 250 },
  })

  if (outcome.status === 'delivered') {
    expectTypeOf(outcome.reason).toEqualTypeOf<undefined>()
    expectTypeOf(outcome.retryable).toEqualTypeOf<undefined>()
    expectTypeOf(outcome.smtp).toEqualTypeOf<SmtpEvidence | undefined>()
  } else if (outcome.status === 'bounced') {
    expectTypeOf(outcome.reason).toEqualTypeOf<BounceReason>()
    expectTypeOf(outcome.retryable).toEqualTypeOf<boolean | undefined>()
    expectTypeOf(outcome.suppression).toEqualTypeOf<undefined>()
  } else {
    expectTypeOf(outcome.status).toEqualTypeOf<'rejected'>()
    expectTypeOf(outcome.reason).toEqualTypeOf<RejectionReason>()
    expectTypeOf(outcome.retryable).toEqualTypeOf<undefined>()
  }
})

test('`retryOf` says which message a send repeats', async () => {
  const message = { ...MESSAGE, to: 'temporary_failure@simulator.test' }
  const first = await verdict.emails.send(message)
  const second = await verdict.emails.send(message, { retryOf: first.message_id })
  expect(await verdict.emails.get(second.message_id)).toMatchObject({ retry_of: first.message_id })
  const taken = await faultOf(verdict.emails.send({ ...message, retry_of: 'msg_1' }, { retryOf: first.message_id }))
  expect(taken).toMatchObject({ code: 'invalid_payload', details: [{ field: 'to' }] })
  expect(taken.message).toContain(second.message_id)
})

test('filters by time take a Date', async () => {
  script(api.world, {})
  const { message_id } = await verdict.emails.send({ ...MESSAGE, to: 'ann@example.net' })
  const { createdAt } = await verdict.emails.get(message_id)
  const at = new Date(createdAt)
  const ids = async (query: { from?: Date; to?: Date }) =>
    (await verdict.emails.list(query)).emails.map((email) => email.message_id)
  expect(await ids({ from: at })).toContain(message_id)
  expect(await ids({ to: at })).not.toContain(message_id)
  await expect(verdict.events.list({ from: new Date('soon') })).rejects.toThrow(
    new TypeError('from: is not a valid time'),
  )
  const { totals } = await verdict.stats({ from: new Date(at.getTime() - 60_000), to: new Date() })
  expect(totals?.sent).toBeGreaterThan(0)
})

test('filters by metadata take pairs, and those by subject words', async () => {
  const { message_id } = await verdict.emails.send({
    ...MESSAGE,
    subject: 'Order 4102',
    metadata: { 'order.id': '4 & 5' },
  })
  const ids = async (query: { metadata?: Record<string, string>; subject?: string }) =>
    (await verdict.emails.list(query)).emails.map((email) => email.message_id)
  expect(await ids({ metadata: { 'order.id': '4 & 5' } })).toEqual([message_id])
  expect(await ids({ metadata: { 'order.id': '4' } })).toEqual([])
  expect(await ids({ subject: '4102 order' })).toEqual([message_id])
})

test.each(['', 'a\n', ' a', 'a ', 'ä', 'a'.repeat(257)])(
  'the idempotency key %j is refused in the words of the client, before anything is sent',
  async (idempotencyKey) => {
    const error = await faultOf(verdict.emails.send(MESSAGE, { idempotencyKey }))
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toMatch(/^idempotencyKey: must have 1 to 256 printable ASCII characters/)
  },
)

test.each(['', 'svc_live_secret\n', 'svc_live_ secret', 'svc_live_sécret'])(
  'the API key %j is refused without being shown',
  (apiKey) => {
    expect(() => client({ apiKey })).toThrow(
      new TypeError('apiKey: required, svc_live_... or svc_test_..., without spaces and line breaks'),
    )
  },
)

test.each([
  ['mailbox_full', { status: 'bounced', reason: 'mailbox_full', smtp: { code: 452 } }],
  ['temporary_failure', { status: 'bounced', reason: 'temporary_failure', retryable: true }],
  ['suppression_list', { status: 'rejected', reason: 'suppression_list', detail: expect.any(String) }],
])('%s is an outcome and not an error', async (address, outcome) => {
  expect(await verdict.emails.send({ ...MESSAGE, to: `${address}@simulator.test` })).toMatchObject(outcome)
})

test('a validation and a send with `sandbox` send nothing and return their checks', async () => {
  const message = { ...MESSAGE, to: 'mailbox_full@simulator.test' }
  for (const dryRun of [verdict.emails.validate(message), verdict.emails.send(message, { sandbox: true })]) {
    expect(await dryRun).toMatchObject({ sandbox: true, status: 'bounced', checks: expect.any(Array) })
  }
})

test('an attachment is bytes or base64, of any size', async () => {
  script(api.world, {})
  const large = Uint8Array.from({ length: 20_000 }, (_, i) => i % 256)
  const outcome = await verdict.emails.send({
    ...MESSAGE,
    to: 'ann@example.net',
    attachments: [
      { filename: 'a.bin', content: large },
      { filename: 'b.txt', content: btoa('text') },
      { filename: 'empty', content: new Uint8Array() },
    ],
  })
  expect(outcome.status).toBe('delivered')
  const { content } = api.world.exchanger.messages[0]!
  expect(content.replaceAll('\r\n', '')).toContain(Buffer.from(large).toString('base64'))
  expect((await verdict.emails.get(outcome.message_id)).attachments).toMatchObject([
    { filename: 'a.bin', size_bytes: 20_000 },
    { filename: 'b.txt', size_bytes: 4 },
    { filename: 'empty', size_bytes: 0 },
  ])
})

test('a batch returns outcomes and errors in the order of its messages', async () => {
  const { results, summary } = await verdict.emails.batch([
    MESSAGE,
    { ...MESSAGE, to: 'spam_blocked@simulator.test', idempotency_key: crypto.randomUUID() },
    { ...MESSAGE, subject: '' },
  ])
  expect(summary).toMatchObject({ total: 3, delivered: 1, bounced: 1, failed: 1 })
  expect(results).toMatchObject([
    { index: 0, status: 'delivered' },
    { index: 1, status: 'bounced', reason: 'spam_blocked' },
    { index: 2, error: 'invalid_payload', details: [{ field: 'subject' }] },
  ])
  const [first] = results
  if (first?.status === 'bounced') expectTypeOf(first.reason).toEqualTypeOf<BounceReason>()
  if (first?.error === undefined) expectTypeOf(first!.message_id).toEqualTypeOf<string>()
  else expectTypeOf(first.message).toEqualTypeOf<string>()
})

test('an error has the code, the status, the request id and the fields', async () => {
  const error = await faultOf(verdict.emails.send({ ...MESSAGE, to: 'not an address', subject: 'Hello' }))
  expect(error).toBeInstanceOf(VerdictError)
  expect(error).toMatchObject({
    name: 'VerdictError',
    code: 'invalid_address',
    status: 400,
    requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    details: [{ field: 'to', message: expect.any(String) }],
    retryAfter: undefined,
  })
  expect(await faultOf(client({ apiKey: 'svc_live_wrong' }).limits())).toMatchObject({ code: 'invalid_api_key' })
  expect(await faultOf(verdict.events.get('evt_01h455vb4pex5vsknk084sn02q'))).toMatchObject({ status: 410 })
})

test('a client without a URL or a key says what is missing', () => {
  for (const url of ['', undefined, 'localhost:8080', 'verdict.example.com']) {
    expect(() => client({ url })).toThrow('url: required, such as https://')
  }
  expect(() => client({ apiKey: undefined })).toThrow('apiKey: required')
})

test('a repeated call with the same key sends nothing and returns the first outcome', async () => {
  const idempotencyKey = crypto.randomUUID()
  const first = await verdict.emails.send(MESSAGE, { idempotencyKey })
  expect(await verdict.emails.send(MESSAGE, { idempotencyKey })).toEqual({ ...first, replayed: true })
  const other = await verdict.emails.send({ ...MESSAGE, subject: 'Another' }, { idempotencyKey })
  expect(other).toEqual({ ...first, replayed: true, mismatch: true })
  expect(await verdict.emails.send(MESSAGE)).not.toEqual(first)
})

test('events are read page by page, or all in turn', async () => {
  const tenant_id = 'pages'
  for (let i = 0; i < 5; i++) await verdict.emails.send({ ...MESSAGE, tenant_id }, { sandbox: true })
  const { events, has_more, next_cursor } = await verdict.events.list({ tenant_id, limit: 3 })
  expect([events.length, has_more, typeof next_cursor]).toEqual([3, true, 'string'])

  const seen: string[] = []
  for await (const event of verdict.events.all({ tenant_id, limit: 2 })) seen.push(event.event_id)
  expect(seen).toHaveLength(5)
  expect(seen.slice(0, 3)).toEqual(events.map(({ event_id }) => event_id))
  expect(await verdict.events.get(seen[0]!)).toMatchObject({ event_id: seen[0], sandbox: true, dispatches: [] })
})

test('emails are read page by page, or all in turn', async () => {
  const metadata = { order: '17' }
  const message = { ...MESSAGE, to: 'mailbox_full@simulator.test', tag: 'receipts', metadata }
  const sent = [await verdict.emails.send(message), await verdict.emails.send(message)]
  const { emails, next_cursor } = await verdict.emails.list({ tag: 'receipts', limit: 1 })
  expect(emails).toMatchObject([{ status: 'bounced', reason: 'mailbox_full', tag: 'receipts', metadata }])
  expect(next_cursor).toBeDefined()
  const seen: string[] = []
  for await (const { message_id } of verdict.emails.all({ tag: 'receipts', limit: 1 })) seen.push(message_id)
  expect(seen).toEqual(sent.map(({ message_id }) => message_id).toReversed())
})

test('a receipt is a compact JWS', async () => {
  const { message_id } = await verdict.emails.send(MESSAGE)
  expect((await verdict.emails.receipt(message_id)).receipt).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
})

test('an iteration reads no page that it does not need, and ends when the caller does', async () => {
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(verdict.events.all({}, { signal }).next()).rejects.toThrow('enough')
  for await (const event of verdict.events.all({ tenant_id: 'pages', limit: 1 })) {
    expect(event).toMatchObject({ event: 'email.delivery', status: 'delivered' })
    if (event.event === 'email.feedback') expectTypeOf(event.feedback).toEqualTypeOf<FeedbackKind>()
    else if (event.status === 'rejected') expectTypeOf(event.reason).toEqualTypeOf<RejectionReason>()
    break
  }
})

test('suppressed addresses are added, listed, imported and removed', async () => {
  const { suppression } = verdict
  const email = 'a+b/c@example.com'
  expect(await suppression.add({ email })).toMatchObject({ email, reason: 'manual' })
  expect(await suppression.import({ emails: ['x@example.com', 'no address'] })).toMatchObject({
    imported: 1,
    invalid: 1,
  })
  expect((await suppression.list({ email })).entries).toMatchObject([{ email }])
  const emails: string[] = []
  for await (const entry of suppression.all({ limit: 1 })) emails.push(entry.email)
  expect(emails.toSorted()).toEqual([email, 'x@example.com'])
  expect(await suppression.remove(email)).toEqual({})
  expect(await faultOf(suppression.remove(email))).toMatchObject({ code: 'not_found' })
})

test('domains are added, changed, verified, rotated and deleted', async () => {
  const { domains } = verdict
  const { domain_id } = await domains.create({ domain: 'client.example.com' })
  expect(await domains.update(domain_id, { require_tls: true })).toMatchObject({ require_tls: true })
  expect(await domains.verify(domain_id)).toMatchObject({ domain_id, status: 'pending' })
  expect((await domains.rotateDkim(domain_id)).dkim!.keys.length).toBeGreaterThan(0)
  expect(await domains.get(domain_id)).toMatchObject({ domain: 'client.example.com' })
  expect((await domains.list()).domains.map(({ domain }) => domain)).toContain('client.example.com')
  expect(await domains.delete(domain_id)).toEqual({})
})

test('the endpoint is set, tested, rotated and deleted; events and messages are replayed', async () => {
  const { webhook, events, messages } = verdict
  expect(await webhook.set({ url: 'http://127.0.0.1:9/hook' })).toMatchObject({
    secret: expect.stringMatching(/^whsec_/),
  })
  expect((await webhook.test()).outcome).toBe('connect')
  const { message_id } = await verdict.emails.send(MESSAGE)
  const [event] = (await events.list({ message_id })).events
  expect(await events.replay(event!.event_id)).toMatchObject({ replayed: true, message_id })
  expect(await messages.replay(message_id)).toMatchObject({ count: 1 })
  expect((await webhook.rotateSecret()).secret).toMatch(/^whsec_/)
  expect((await webhook.get()).url).toBe('http://127.0.0.1:9/hook')
  expect(await webhook.delete()).toEqual({})
  expect(await faultOf(events.replay(event!.event_id))).toMatchObject({ code: 'webhook_not_configured', status: 409 })
})

test('statistics and limits are read', async () => {
  expect(await verdict.stats({ granularity: 'total' })).toMatchObject({
    granularity: 'total',
    totals: expect.any(Object),
  })
  expect(await verdict.limits()).toMatchObject({ tier: 'unlimited', counts: { recipients: 50 } })
})

test('the client has every call of the contract', () => {
  const source = ['emails', 'events', 'stream', 'domains', 'suppression', 'webhook', 'webhooks', 'verdict']
    .map((name) => readFileSync(`client/${name}.ts`, 'utf8'))
    .join()
  expect(Object.keys(ROUTES).filter((name) => !new RegExp(`call\\(\\s*'${name}'`).test(source))).toEqual([])
})
