import { expect, test } from 'vitest'
import { newId, parsePublicId, publicId } from '../../../server/db/ids.ts'
import { feedback, messages, openMessages } from '../../../server/db/schema.ts'
import { a, mx } from '../../harness/dns.ts'
import { eventually } from '../../harness/eventually.ts'
import { startExchanger } from '../../harness/exchanger.ts'
import { words } from '../../harness/text.ts'
import { startApi } from '../api.ts'

const api = await startApi()

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const DAY_MS = 86_400_000

test('the response of a send has status, message_id and the evidence, and no field that does not apply', async () => {
  const { status, json } = await api.send()
  expect(status).toBe(200)
  expect(Object.keys(json)).toEqual(['status', 'message_id', 'smtp'])
  expect(json.status).toBe('delivered')
  expect(json.message_id).toMatch(/^msg_[0-9a-z]{26}$/)
  expect(json.smtp).toMatchObject({ mx: 'mx.simulator.test', code: 250, phase: 'dot', tls: null })
})

test('Get email returns the stored email; its timestamps alone are camelCase', async () => {
  const sent = await api.send({
    to: ['delivered@simulator.test', 'mailbox_full@simulator.test'],
    from: 'Ann <hello@example.test>',
    reply_to: 'ann@example.test',
    html: '<p>Hi</p>',
    headers: { 'X-Order': '7' },
    tenant_id: 'shop-1',
    attachments: [{ filename: 'a.pdf', content: Buffer.from('%PDF').toString('base64') }],
  })
  const { status, json } = await api.call('GET', `/api/v1/emails/${sent.json.message_id}`)
  expect(status).toBe(200)
  expect(json).toMatchObject({
    message_id: sent.json.message_id,
    status: 'bounced',
    reason: 'mailbox_full',
    from: 'Ann <hello@example.test>',
    to: ['delivered@simulator.test', 'mailbox_full@simulator.test'],
    reply_to: 'ann@example.test',
    subject: 'Hello',
    headers: { 'X-Order': '7' },
    tenant_id: 'shop-1',
    sandbox: false,
    attachments: [{ filename: 'a.pdf', content_type: 'application/pdf', size_bytes: 4 }],
    recipients: sent.json.recipients,
    html: '<p>Hi</p>',
    text: 'Hi',
  })
  expect(json.size_bytes).toBeGreaterThan(500)
  expect(json.feedback).toEqual([])
  expect(json.events).toHaveLength(2)
  expect(json.events[1]).toMatchObject({ status: 'bounced', recipient: 'mailbox_full@simulator.test' })
  expect(json.events[0].timestamp).toMatch(TIME)
  for (const name of ['createdAt', 'completedAt', 'expiresAt']) expect(json[name]).toMatch(TIME)
  expect(Date.parse(json.expiresAt) - Date.parse(json.createdAt)).toBe(90 * DAY_MS)
})

test('Get email shows late bounces and complaints beside the outcome, the oldest first', async () => {
  const { json: sent } = await api.send({ to: 'ann@example.net' })
  const of = {
    messageId: parsePublicId('msg', sent.message_id)!,
    accountId: api.world.account.id,
    recipient: 'ann@example.net',
  }
  const at = Date.parse('2026-01-31T12:00:00.000Z')
  await api.world.db.insert(feedback).values([
    { id: newId(at + 1), ...of, kind: 'complaint', detail: 'abuse', reportedAt: new Date(at + 1) },
    { id: newId(at), ...of, kind: 'late_bounce', reason: 'mailbox_full', reportedAt: new Date(at) },
  ])
  const { json } = await api.call('GET', `/api/v1/emails/${sent.message_id}`)
  expect(json.status).toBe('delivered')
  expect(json.feedback).toEqual([
    {
      kind: 'late_bounce',
      reason: 'mailbox_full',
      reported_at: '2026-01-31T12:00:00.000Z',
      recipient: 'ann@example.net',
    },
    { kind: 'complaint', reported_at: '2026-01-31T12:00:00.001Z', recipient: 'ann@example.net', detail: 'abuse' },
  ])
})

test('the evidence says where the time went and which hosts were tried, alike in Send, its repeat and Get email', async () => {
  const { dns, exchanger } = api.world
  const refusing = await startExchanger({ greeting: '421 4.3.2 try later' }, { port: exchanger.port }, '127.0.0.2')
  Object.assign(dns.zone, {
    'MX two.org': [mx('two.org', 10, 'mx1.two.org'), mx('two.org', 20, 'mx2.two.org')],
    'A mx1.two.org': [a('mx1.two.org', '127.0.0.2')],
    'A mx2.two.org': [a('mx2.two.org', '127.0.0.1')],
    'AAAA mx1.two.org': 'nodata',
    'AAAA mx2.two.org': 'nodata',
  })
  const key = { 'idempotency-key': 'evidence' }
  const sent = await api.send({ to: 'ann@two.org' }, key)
  const { smtp } = sent.json
  expect(smtp).toMatchObject({ mx: 'mx2.two.org', ip: '127.0.0.1', code: 250 })
  expect(Object.keys(smtp.timings)).toEqual('dns connect greeting ehlo mail rcpt data dot own'.split(' '))
  for (const ms of Object.values(smtp.timings)) expect(String(ms)).toMatch(/^\d+(\.\d)?$/)
  expect(smtp.tried).toEqual([{ mx: 'mx1.two.org', ip: '127.0.0.2', phase: 'greeting', detail: '421 4.3.2 try later' }])
  expect(smtp).not.toHaveProperty('reused')
  expect((await api.send({ to: 'ann@two.org' }, key)).text).toBe(sent.text)
  const { json } = await api.call('GET', `/api/v1/emails/${sent.json.message_id}`)
  expect(json.recipients[0].smtp).toEqual(smtp)
  const { smtp: again } = (await api.send({ to: 'ann@two.org' })).json
  expect(Object.keys(again.timings)).toEqual(['dns', 'mail', 'rcpt', 'data', 'dot', 'own'])
  expect(again).toMatchObject({ reused: true })
  expect(again).not.toHaveProperty('tried')
  await refusing.close()
})

test('an outcome of DNS has the time of the look-up', async () => {
  api.world.dns.zone['MX gone.org'] = 'nxdomain'
  const { json } = await api.send({ to: 'ann@gone.org' })
  expect(json).toMatchObject({ reason: 'no_mx_record', smtp: { phase: 'dns', timings: { dns: expect.any(Number) } } })
  expect(Object.keys(json.smtp.timings)).toEqual(['dns'])
})

test('inline files and given media types are sent and shown by Get email', async () => {
  const image = Buffer.from('not really an image').toString('base64')
  const sent = await api.send({
    to: 'ann@example.net',
    html: '<img src="cid:logo@shop">',
    attachments: [
      { filename: 'logo.png', content: image, content_id: 'logo@shop' },
      { filename: 'data', content: image, content_type: 'Application/Vnd.Shop+JSON' },
    ],
  })
  expect(sent.json.status).toBe('delivered')
  const { json } = await api.call('GET', `/api/v1/emails/${sent.json.message_id}`)
  expect(json.attachments).toEqual([
    { filename: 'logo.png', content_type: 'image/png', size_bytes: 19, content_id: 'logo@shop' },
    { filename: 'data', content_type: 'application/vnd.shop+json', size_bytes: 19 },
  ])
  const { content } = api.world.exchanger.messages.at(-1)!
  expect(content).toContain('Content-ID: <logo@shop>\r\n')
})

test.each([
  [
    'is not given twice',
    { html: 'x', attachments: [{ content_id: 'a' }, { content_id: 'a' }] },
    'attachments[1].content_id',
  ],
  ['needs html', { attachments: [{ content_id: 'a' }] }, 'attachments[0].content_id'],
  [
    'holds no line break',
    { html: 'x', attachments: [{ content_id: 'a>\r\nBcc: <eve@example.net' }] },
    'attachments[0].content_id',
  ],
])(
  'a content_id %s: 400 names the field, nothing is sent and nothing is stored',
  async (_, { attachments, ...more }, field) => {
    const counted = async () => [api.world.exchanger.messages.length, await api.world.db.$count(messages)]
    const before = await counted()
    const files = attachments.map((file) => ({ filename: 'a.png', content: '', ...file }))
    const { status, json } = await api.send({ to: 'ann@example.net', ...more, attachments: files })
    expect([status, json.error]).toEqual([400, 'invalid_payload'])
    expect(json.details.map((detail: { field: string }) => detail.field)).toEqual([field])
    expect(await counted()).toEqual(before)
  },
)

test('a running send is not found', async () => {
  const { world } = api
  const ends = Promise.withResolvers<void>()
  world.exchanger.script = { dot: { after: ends.promise, act: '250 2.0.0 queued' } }
  const sending = api.send({ to: 'ann@example.net' })
  const [open] = await eventually(async () => {
    const rows = await world.db.select().from(openMessages)
    expect(rows).toHaveLength(1)
    return rows
  })
  const path = `/api/v1/emails/${publicId('msg', open!.id)}`
  expect((await api.call('GET', path)).status).toBe(404)
  ends.resolve()
  await sending
  world.exchanger.script = {}
  expect((await api.call('GET', path)).status).toBe(200)
})

test('an identifier of another account behaves byte for byte like an unknown one', async () => {
  const { json } = await api.send()
  const as = async (id: string) => {
    const { status, text } = await api.call('GET', `/api/v1/emails/${id}`, {
      key: api.keys.stranger,
      headers: { 'x-request-id': 'r' },
    })
    return [status, text.replaceAll(id, 'ID')]
  }
  const unknown = await as(publicId('msg', newId(Date.now())))
  expect(unknown[0]).toBe(404)
  expect(await as(json.message_id)).toEqual(unknown)
})

test.each(['msg_short', 'evt_01m7y6yyvye1masewbfb67e519', 'msg_ZZZZZZZZZZZZZZZZZZZZZZZZZZ', '%00', 'x'.repeat(400)])(
  '404 not_found: %s is no id',
  async (id) => {
    const { status, json } = await api.call('GET', `/api/v1/emails/${id}`)
    expect([status, json.error].join()).toMatch(/^(404,not_found|400,invalid_payload)$/)
  },
)

test('an id that is over 90 days old is 410 event_expired for every caller; a day less is 404', async () => {
  for (const key of [api.keys.live, api.keys.stranger]) {
    const get = (days: number) =>
      api.call('GET', `/api/v1/emails/${publicId('msg', newId(Date.now() - days * DAY_MS))}`, { key })
    expect((await get(90.001)).json).toMatchObject({ error: 'event_expired' })
    expect((await get(90.001)).status).toBe(410)
    expect((await get(89.999)).status).toBe(404)
  }
})

test('the sandbox header and a test key each make a dry run', async () => {
  for (const { json } of [
    await api.send({}, { 'x-service-sandbox': 'TRUE' }),
    await api.send({}, {}, api.keys.test),
    await api.send({}, { 'x-service-sandbox': 'false' }, api.keys.test),
  ]) {
    expect(json).toMatchObject({ status: 'delivered', sandbox: true })
    expect(json.checks.map((check: { name: string }) => check.name)).toEqual(
      words(`
      payload domain warm_up quota breaker address suppression recipient_mx
    `),
    )
    expect((await api.call('GET', `/api/v1/emails/${json.message_id}`)).json.sandbox).toBe(true)
  }
})

test('400 invalid_payload: a sandbox header that is neither true nor false; a typo must not send', async () => {
  for (const value of ['ture', '1', 'yes', '']) {
    const { status, json } = await api.send({}, { 'x-service-sandbox': value })
    expect([status, json.error]).toEqual([400, 'invalid_payload'])
    expect(json.details[0].field).toBe('X-Service-Sandbox')
  }
})

test('403 domain_not_verified: the From domain is not a domain of the account', async () => {
  const { status, json } = await api.send({ from: 'a@elsewhere.test' })
  expect([status, json.error]).toEqual([403, 'domain_not_verified'])
  const { json: other } = await api.send({}, {}, api.keys.stranger)
  expect(other.error).toBe('domain_not_verified')
})

test('a refused request sends and stores nothing', async () => {
  const count = () => api.world.db.$count(messages)
  const before = await count()
  for (const change of [
    { to: [] },
    { to: 'x' },
    { replyto: 'a@b.example' },
    { subject: 7 },
    { headers: { Bcc: 'x' } },
  ]) {
    expect((await api.send(change)).status).toBe(400)
  }
  expect(await count()).toBe(before)
})
