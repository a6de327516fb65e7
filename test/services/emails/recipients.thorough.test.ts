import { createHash } from 'node:crypto'
import PostalMime from 'postal-mime'
import { beforeEach, expect, test } from 'vitest'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, RecipientKind } from '../../../gen/verdict/v1/outcomes_pb.ts'
import { eq } from '../../../server/db/drizzle.ts'
import { parsePublicId } from '../../../server/db/ids.ts'
import { events, messages, suppressions } from '../../../server/db/schema.ts'
import { run } from '../../../server/db/statement.ts'
import { startApi } from '../api.ts'

const api = await startApi()
beforeEach(async () => {
  api.world.exchanger.reset()
  await run(api.world.db, 'truncate suppressions, refusals')
})

// biome-ignore lint/suspicious/noExplicitAny: any JSON
type Json = any

const get = async (id: string) => (await api.call('GET', `/api/v1/emails/${id}`)).json
const kindsOf = (recipients: Json[]) => recipients.map(({ email, kind, status }) => [email, kind, status])
const contents = () => api.world.exchanger.messages.map(({ content }) => content)

const EVERYONE = {
  to: ['Ann Lee <ann@example.net>', 'bob@example.net'],
  cc: ['"Lee, Cid" <cid@EXAMPLE.net>', 'Bob <bob@example.net>'],
  bcc: ['Dee <dee@example.net>', 'ann@example.net'],
}
const OUTCOMES = [
  ['ann@example.net', 'to', 'delivered'],
  ['bob@example.net', 'to', 'delivered'],
  ['cid@example.net', 'cc', 'delivered'],
  ['dee@example.net', 'bcc', 'delivered'],
]

test('every recipient has an outcome with the kind of the first field that gave it', async () => {
  const { json } = await api.send(EVERYONE)
  expect(kindsOf(json.recipients)).toEqual(OUTCOMES)
  const email = await get(json.message_id)
  expect(email.recipients).toEqual(json.recipients)
  expect(email.events).toHaveLength(4)
})

test('To and Cc show what was given, and no copy names a recipient of bcc', async () => {
  await api.send(EVERYONE)
  expect(api.world.exchanger.messages.flatMap(({ to }) => to).toSorted()).toEqual(OUTCOMES.map(([email]) => email))
  for (const content of contents()) {
    const mail = await PostalMime.parse(content)
    expect(mail.to).toEqual([
      { name: 'Ann Lee', address: 'ann@example.net' },
      { name: '', address: 'bob@example.net' },
    ])
    expect(mail.cc).toEqual([
      { name: 'Lee, Cid', address: 'cid@example.net' },
      { name: 'Bob', address: 'bob@example.net' },
    ])
    // The signature and the id of the message are random texts.
    const given = content.replace(/^(dkim-signature|message-id):.*\r\n([ \t].*\r\n)*/gim, '')
    expect(given).not.toMatch(/dee/i)
    expect(content).not.toMatch(/^bcc:/im)
  }
})

test("Get email shows the recipients with their names, Reply-To and the caller's own data", async () => {
  const metadata = { order: '7', 'a.b-c_D': 'Größe "M"', empty: '' }
  const { json } = await api.send({
    ...EVERYONE,
    to: ['Ünï <ann@bücher.simulator.test>', ...EVERYONE.to],
    reply_to: ['Help <help@example.test>', 'ops@example.test'],
    metadata,
    tag: 'Rechnung 請求書',
  })
  expect(await get(json.message_id)).toMatchObject({
    to: ['Ünï <ann@xn--bcher-kva.simulator.test>', ...EVERYONE.to],
    cc: ['"Lee, Cid" <cid@example.net>', 'Bob <bob@example.net>'],
    bcc: ['Dee <dee@example.net>', 'ann@example.net'],
    reply_to: 'Help <help@example.test>, ops@example.test',
    metadata,
    tag: 'Rechnung 請求書',
  })
})

test('Get email leaves out what a send did not give, and shows the kind of the only recipient', async () => {
  const { json } = await api.send({ cc: [], bcc: [], reply_to: [], metadata: {} })
  expect(json).not.toHaveProperty('recipients')
  const email = await get(json.message_id)
  for (const field of ['cc', 'bcc', 'reply_to', 'metadata', 'tag']) expect(email).not.toHaveProperty(field)
  expect(email.recipients).toMatchObject([{ email: 'delivered@simulator.test', kind: 'to' }])
})

test('cc, bcc, reply_to and to accept a string', async () => {
  const fields = { to: 'Ann <ann@example.net>', cc: 'bob@example.net', bcc: 'cid@example.net', reply_to: 'a@b.example' }
  const { json } = await api.send(fields)
  expect(kindsOf(json.recipients).map(([, kind]) => kind)).toEqual(['to', 'cc', 'bcc'])
  const { to, cc, bcc, reply_to } = await get(json.message_id)
  expect({ to, cc, bcc, reply_to }).toEqual({
    to: ['Ann <ann@example.net>'],
    cc: ['bob@example.net'],
    bcc: ['cid@example.net'],
    reply_to: 'a@b.example',
  })
})

test('gRPC has the same fields', async () => {
  const client = api.grpc(EmailService)
  const { metadata, tag } = { metadata: { order: '7', ['__proto__']: 'own' }, tag: 'receipt' }
  const sent = await client.send({
    ...EVERYONE,
    replyTo: ['a@b.example', 'c@d.example'],
    metadata,
    tag,
    from: 'hello@example.test',
    subject: 'Hi',
    text: 'Hi',
  })
  const { TO, CC, BCC } = RecipientKind
  expect(sent.recipients.map(({ kind }) => kind)).toEqual([TO, TO, CC, BCC])
  const email = await client.getEmail({ id: sent.messageId })
  expect(email).toMatchObject({ status: DeliveryStatus.DELIVERED, tag, replyTo: 'a@b.example, c@d.example' })
  expect(Object.entries(email.metadata)).toEqual(Object.entries(metadata))
  expect(email.bcc).toEqual(EVERYONE.bcc)
  expect(email.recipients.map(({ kind }) => kind)).toEqual([TO, TO, CC, BCC])
})

test('a repeat of a send to several kinds is byte-identical, live and as a dry run, alone and in a batch', async () => {
  const body = {
    ...EVERYONE,
    metadata: { order: '7' },
    tag: 'receipt',
    from: 'hello@example.test',
    subject: 'Hi',
    text: 'Hi',
  }
  for (const sandbox of ['true', 'false']) {
    const headers = { 'idempotency-key': 'everyone', 'x-service-sandbox': sandbox }
    const [first, repeat] = [await api.send(body, headers), await api.send(body, headers)]
    expect(kindsOf(first.json.recipients)).toEqual(OUTCOMES)
    expect([repeat.headers.get('idempotent-replayed'), repeat.text]).toEqual(['true', first.text])
    const batch = () => api.call('POST', '/api/v1/emails/batch', { headers, body: { emails: [body] } })
    const [firstBatch, repeatedBatch] = [await batch(), await batch()]
    expect(kindsOf(firstBatch.json.results[0].recipients)).toEqual(OUTCOMES)
    expect(repeatedBatch.text).toBe(firstBatch.text)
  }
})

test('a suppressed recipient is rejected alone, and the header still shows it', async () => {
  const { db, account } = api.world
  await api.call('POST', '/api/v1/suppression', { body: { email: 'cid@example.net' } })
  expect(await db.$count(suppressions, eq(suppressions.accountId, account.id))).toBe(1)
  const { json } = await api.send({ to: 'ann@example.net', cc: 'Cid <CID@example.net>', bcc: 'dee@example.net' })
  expect(json).toMatchObject({ status: 'rejected', reason: 'suppression_list' })
  expect(kindsOf(json.recipients)).toEqual([
    ['ann@example.net', 'to', 'delivered'],
    ['CID@example.net', 'cc', 'rejected'],
    ['dee@example.net', 'bcc', 'delivered'],
  ])
  expect((await PostalMime.parse(contents()[0]!)).cc).toEqual([{ name: 'Cid', address: 'CID@example.net' }])
})

test('the simulator gives each recipient of any field the outcome of its name, with a name or without', async () => {
  const fields = {
    to: 'Ann <delivered+1@simulator.test>',
    cc: ['"Full, Bob" <mailbox_full@simulator.test>', 'spam_blocked@simulator.test'],
    bcc: ['<suppression_list@simulator.test>', 'Nobody <no_mx_record@simulator.test>'],
  }
  for (const sandbox of ['false', 'true']) {
    const { json } = await api.send(fields, { 'x-service-sandbox': sandbox })
    expect(json.recipients.map(({ kind, status, reason }: Json) => [kind, status, reason])).toEqual([
      ['to', 'delivered', undefined],
      ['cc', 'bounced', 'mailbox_full'],
      ['cc', 'bounced', 'spam_blocked'],
      ['bcc', 'rejected', 'suppression_list'],
      ['bcc', 'bounced', 'no_mx_record'],
    ])
  }
})

test('each recipient counts in the statistics, and has an event with its kind, the tag and the metadata', async () => {
  const delivered = async () => (await api.call('GET', '/api/v1/stats')).json.totals.delivered
  const before = await delivered()
  const { json } = await api.send({ ...EVERYONE, metadata: { order: '7' }, tag: 'receipt' })
  expect((await delivered()) - before).toBe(4)
  const stored = await api.world.db
    .select({ recipient: events.recipient, kind: events.kind, tag: events.tag, metadata: events.metadata })
    .from(events)
    .where(eq(events.messageId, parsePublicId('msg', json.message_id)!))
  expect(stored.map(({ recipient, kind }) => `${kind} ${recipient}`).toSorted()).toEqual(
    OUTCOMES.map(([email, kind]) => `${kind} ${email}`).toSorted(),
  )
  for (const { tag, metadata } of stored)
    expect({ tag, metadata }).toEqual({ tag: 'receipt', metadata: { order: '7' } })
})

test('metadata and tag are in no header of the message and no statistic', async () => {
  await api.send({ to: 'ann@example.net', metadata: { 'canary-key': 'kanarienvogel' }, tag: 'kanarientag' })
  expect(contents()[0]).not.toMatch(/canary|kanarien/i)
  expect((await api.call('GET', '/api/v1/stats')).text).not.toMatch(/canary|kanarien/i)
})

const users = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `user${from + i}@example.net`)

test.each<[string, object, string[]]>([
  ['51 recipients over three fields', { to: users(0, 20), cc: users(20, 40), bcc: users(40, 51) }, ['bcc']],
  ['no recipient in to', { to: [], cc: 'ann@example.net' }, ['to']],
  ['a line break in a name', { to: '"Ann\r\nBcc: eve@example.net" <ann@example.net>' }, ['to']],
  ['a list of numbers', { cc: [1] }, ['cc[0]']],
  ['11 reply_to', { reply_to: users(0, 11) }, ['reply_to']],
  ['metadata that is a list', { metadata: ['order'] }, ['metadata']],
  ['metadata that is a string', { metadata: 'order=7' }, ['metadata']],
  [
    'metadata of other types',
    { metadata: { a: 1, b: null, c: { d: 'e' }, f: true } },
    ['a', 'b', 'c', 'f'].map((key) => `metadata["${key}"]`),
  ],
  ['21 pairs', { metadata: Object.fromEntries(users(0, 21).map((_, i) => [`k${i}`, 'v'])) }, ['metadata']],
  ['5 KB', { metadata: Object.fromEntries(users(0, 11).map((_, i) => [`k${i}`, 'x'.repeat(470)])) }, ['metadata']],
  ['a key with a space', { metadata: { 'a b': 'v' } }, ['metadata["a b"]']],
  ['a value with a line break', { metadata: { a: 'v\r\nBcc: eve@example.net' } }, ['metadata["a"]']],
  ['a tag that is a list', { tag: ['a'] }, ['tag']],
  ['an empty tag', { tag: '' }, ['tag']],
  ['a tag of 101 characters', { tag: 'x'.repeat(101) }, ['tag']],
])('400: %s; the fields are named, nothing is sent and nothing stored', async (_, change, fields) => {
  const before = await api.world.db.$count(messages)
  const { status, json } = await api.send({ to: 'ann@example.net', ...change })
  expect(status).toBe(400)
  expect(json.details.map(({ field }: Json) => field)).toEqual(fields)
  expect(contents()).toEqual([])
  expect(await api.world.db.$count(messages)).toBe(before)
})

const PATHS = ['/api/v1/emails/send', '/verdict.v1.EmailService/Send']

test.each(PATHS)('a metadata key such as __proto__ is a key like any other: %s', async (path) => {
  const body =
    '{"to":["ann@example.net"],"from":"hello@example.test","subject":"Hi","text":"Hi","metadata":{"__proto__":"own","constructor":"c"}}'
  const response = await fetch(api.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${api.keys.live}`, 'content-type': 'application/json' },
    body,
  })
  const { message_id } = (await response.json()) as Json
  const { text } = await api.call('GET', `/api/v1/emails/${message_id}`)
  expect(text).toContain('"metadata":{"__proto__":"own","constructor":"c"}')
  expect(Object.keys({})).toEqual([])
  expect(({} as Json).own).toBeUndefined()
})

async function digestOf(messageId: string): Promise<string | undefined> {
  const [row] = await api.world.db
    .select()
    .from(messages)
    .where(eq(messages.id, parsePublicId('msg', messageId)!))
  return row!.digest?.toString('hex')
}

const sha256 = (octets: string) => createHash('sha256').update(octets, 'latin1').digest('hex')

test('the digest is the SHA-256 of the octets that the server received', async () => {
  const text = '.\r\n..\r\nA line that begins with a dot:\r\n.dot\r\n'
  const attachments = [{ filename: 'a.bin', content: Buffer.alloc(100_000, 7).toString('base64') }]
  const { json } = await api.send({ to: 'ann@example.net', text, html: text, attachments })
  expect(contents()).toHaveLength(1)
  expect(await digestOf(json.message_id)).toBe(sha256(contents()[0]!))
})

test('a message that any server may have has a digest; one that went out to none has none', async () => {
  const { exchanger } = api.world
  const digestWith = async (script: typeof exchanger.script, change: object = {}) => {
    exchanger.script = script
    return digestOf((await api.send({ to: 'ann@example.net', ...change })).json.message_id)
  }
  const whole = expect.stringMatching(/^[0-9a-f]{64}$/)
  expect(await digestWith({ dot: '550 5.7.1 spam' })).toEqual(whole)
  expect(await digestWith({ dot: 'close' })).toEqual(whole)
  expect(
    await digestWith(
      { rcpt: (line) => (line.includes('bob') ? '550 5.1.1 unknown' : undefined) },
      { cc: 'bob@example.net' },
    ),
  ).toEqual(whole)
  expect(await digestWith({ rcpt: '550 5.7.1 no' })).toBeUndefined()
  expect(await digestWith({ data: '554 5.7.1 no' })).toBeUndefined()
  expect(await digestWith({}, { to: 'ann@nowhere.invalid' })).toBeUndefined()
  expect(await digestOf((await api.send({}, { 'x-service-sandbox': 'true' })).json.message_id)).toBeUndefined()
})
