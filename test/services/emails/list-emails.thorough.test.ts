import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import { DeliveryStatus, RecipientKind } from '../../../gen/verdict/v1/outcomes_pb.ts'
import { sql } from '../../../server/db/drizzle.ts'
import { newId, publicId } from '../../../server/db/ids.ts'
import { feedback, messages, openMessages, recipients } from '../../../server/db/schema.ts'
import { startApi } from '../api.ts'

interface Stored {
  subject: string
  /** How long before the start of this test the send was accepted. */
  agoMs: number
  to?: string[]
  kind?: 'to' | 'cc' | 'bcc'
  account?: string
  change?: Partial<typeof messages.$inferInsert>
  metadata?: Record<string, string>
  /** Evidence of each recipient. */
  smtp?: object
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const DOUBTFUL = 'cy@example.net'

/** Stores an email as the end of a send does. */
async function store({ subject, agoMs, to = ['ann@example.net'], kind, account, change, metadata, smtp }: Stored) {
  const { db } = api.world
  const createdAt = new Date(now - agoMs)
  const id = newId(createdAt.getTime())
  const outcome = { status: change?.status ?? 'delivered', reason: change?.reason ?? null }
  const row = { id, accountId: account ?? api.world.account.id, sandbox: false, region: 'eu', sizeBytes: 1 }
  const request = { from: 'Shop <hello@example.test>', to, subject, headers: [], attachments: [], metadata }
  const completedAt = new Date(createdAt.getTime() + 400)
  await db
    .insert(messages)
    .values({ ...row, ...outcome, domain: 'example.test', createdAt, completedAt, request, ...change })
  await db.insert(recipients).values(
    to.map((email, position) => ({
      ...{ messageId: id, accountId: row.accountId, position, eventId: newId(now), email, kind, ...outcome },
      ...{ retryable: false, inDoubt: email === DOUBTFUL, smtp: smtp as typeof recipients.$inferInsert.smtp },
    })),
  )
  return id
}

/** Stores what came back about ann@example.net. */
async function report(
  messageId: string,
  kind: 'late_bounce' | 'complaint',
  change?: Partial<typeof feedback.$inferInsert>,
) {
  const reason = kind === 'late_bounce' ? 'mailbox_does_not_exist' : null
  const row = { id: newId(now), messageId, accountId: api.world.account.id, recipient: 'ann@example.net', kind, reason }
  await api.world.db.insert(feedback).values({ ...row, reportedAt: new Date(now), ...change } as typeof row)
}

const api = await startApi()
const now = Date.now()
beforeAll(async () => {
  await partitionsBack(100)
  const bounced = { status: 'bounced', reason: 'mailbox_full' }
  const fresh = await store({ subject: 'new', agoMs: HOUR_MS, change: { tag: 'orders' }, metadata: { order: '7' } })
  await report(fresh, 'late_bounce')
  await report(fresh, 'complaint', { id: newId(now + 1) })
  const atMicrosoft = { mx: 'buecher.mail.protection.OUTLOOK.com', ip: '2001:db8::1', tried: [] }
  await store({
    ...{ subject: 'full', agoMs: 2 * HOUR_MS, to: ['Bob@xn--bcher-kva.example'], change: bounced, smtp: atMicrosoft },
  })
  const spam = { status: 'bounced', reason: 'spam_blocked' } as const
  const tried = { tried: [{ ip: '192.0.2.1' }, { mx: 'aspmx.l.google.com' }, { mx: 'mx.other.example' }] }
  await store({ subject: 'spam', agoMs: DAY_MS, change: spam, kind: 'cc', smtp: tried })
  await store({ subject: 'refused', agoMs: 4 * DAY_MS, change: { status: 'rejected', reason: 'suppression_list' } })
  const old = await store({ subject: 'tenant', agoMs: 20 * DAY_MS, change: { tenantId: 'shop-1', tag: 'orders' } })
  await report(old, 'late_bounce', { isMember: true })
  await store({ subject: 'domain', agoMs: 60 * DAY_MS, change: { domain: 'xn--bcher-kva.example', sandbox: true } })
  const doubtful = { status: 'bounced', reason: 'connection_timeout' }
  const to = ['ann@example.net', 'Ann@example.net', 'cy@example.net']
  await store({ subject: 'both', agoMs: 89 * DAY_MS, to, change: doubtful })
  await store({ subject: 'expired', agoMs: 91 * DAY_MS })
  const account = randomUUID()
  await report(await store({ subject: 'foreign', agoMs: HOUR_MS, account }), 'late_bounce', { accountId: account })
})

/** Creates the partitions of past days: the service itself creates yesterday's and later ones. */
async function partitionsBack(days: number) {
  for (const table of ['messages', 'recipients']) {
    const first = showBound(now - days * DAY_MS)
    const [{ name }] = (await api.world.db.execute(
      sql.raw(`
      select min(pg_get_expr(c.relpartbound, c.oid)) as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = '${table}'::regclass`),
    )) as unknown as [{ name: string }]
    const next = /FROM \('([^']+)'\)/.exec(name)![1]
    await api.world.db.execute(
      sql.raw(`create table ${table}_past partition of ${table} for values from ('${first}') to ('${next}')`),
    )
  }
}

const showBound = (ms: number) => newId(ms).replace(/^(.{13}).*$/, '$1-0000-0000-000000000000')

const list = (query: string, key?: string) => api.call('GET', `/api/v1/emails?${query}`, { key })
const found = async (query: string) =>
  (await list(query)).json.emails.map(({ subject }: { subject: string }) => subject) as string[]

const ALL = ['new', 'full', 'spam', 'refused', 'tenant', 'domain', 'both']

test('emails are listed newest createdAt first, with the fields of the contract', async () => {
  const { status, json } = await list('')
  expect(status).toBe(200)
  expect(json.emails.map(({ subject }: { subject: string }) => subject)).toEqual(ALL)
  expect(json.has_more).toBe(false)
  expect(json.emails[0]).toEqual({
    message_id: expect.stringMatching(/^msg_[0-9a-z]{26}$/),
    status: 'delivered',
    from: 'Shop <hello@example.test>',
    subject: 'new',
    recipients: [{ email: 'ann@example.net', kind: 'to', status: 'delivered' }],
    tag: 'orders',
    metadata: { order: '7' },
    sandbox: false,
    createdAt: new Date(now - HOUR_MS).toISOString(),
    completedAt: new Date(now - HOUR_MS + 400).toISOString(),
    feedback: [
      {
        kind: 'late_bounce',
        reason: 'mailbox_does_not_exist',
        recipient: 'ann@example.net',
        reported_at: expect.any(String),
      },
      { kind: 'complaint', recipient: 'ann@example.net', reported_at: new Date(now).toISOString() },
    ],
  })
  expect(json.emails[1].feedback).toEqual([])
  expect(json.emails[4].feedback).toMatchObject([{ kind: 'late_bounce', member: true }])
  expect(json.emails[2]).toMatchObject({
    status: 'bounced',
    reason: 'spam_blocked',
    recipients: [{ kind: 'cc', status: 'bounced', reason: 'spam_blocked' }],
  })
  expect(json.emails[4].tenant_id).toBe('shop-1')
  expect(json.emails[6].recipients).toHaveLength(3)
})

test('an email in doubt says so, and which of its recipients is', async () => {
  const [doubtful, clear] = (await list('')).json.emails.toReversed()
  expect(doubtful).toMatchObject({ subject: 'both', in_doubt: true })
  expect(doubtful.recipients[2]).toMatchObject({ email: DOUBTFUL, in_doubt: true })
  expect(doubtful.recipients[0]).not.toHaveProperty('in_doubt')
  expect(clear).not.toHaveProperty('in_doubt')
})

test.each([
  ['status=delivered', ['new', 'tenant', 'domain']],
  ['status=bounced', ['full', 'spam', 'both']],
  ['status=rejected', ['refused']],
  ['reason=mailbox_full', ['full']],
  ['reason=policy_block', []],
  ['in_doubt=true', ['both']],
  ['in_doubt=false', ['new', 'full', 'spam', 'refused', 'tenant', 'domain']],
  ['in_doubt=true&recipient=CY@example.net', ['both']],
  ['in_doubt=true&reason=mailbox_full', []],
  ['recipient=ANN@Example.net', ['new', 'spam', 'refused', 'tenant', 'domain', 'both']],
  ['recipient=bob@bücher.example', ['full']],
  ['recipient=BOB', ['full']],
  ['recipient=ann', ['new', 'spam', 'refused', 'tenant', 'domain', 'both']],
  ['recipient=ann%25', []],
  ['recipient=example', []],
  ['recipient=@Example.NET', ['new', 'spam', 'refused', 'tenant', 'domain', 'both']],
  ['recipient=@bücher.example', ['full']],
  ['recipient=ann&recipient_domain=bücher.example', []],
  ['recipient=ann&feedback=complaint', ['new']],
  ['recipient=ann&tag=orders', ['new', 'tenant']],
  ['recipient=bob&subject=full', ['full']],
  ['recipient_domain=Example.NET', ['new', 'spam', 'refused', 'tenant', 'domain', 'both']],
  ['recipient_domain=bücher.example', ['full']],
  ['recipient_domain=le.net', []],
  ['recipient_domain=example.net&in_doubt=true', ['both']],
  ['recipient_domain=example.net&recipient=bob@bücher.example', []],
  ['recipient=BOB@xn--bcher-kva.example', ['full']],
  ['recipient=cy@example.net', ['both']],
  ['recipient=nobody@example.net', []],
  ['domain=Example.TEST', ['new', 'full', 'spam', 'refused', 'tenant', 'both']],
  ['domain=bücher.example', ['domain']],
  ['domain=xn--bcher-kva.example', ['domain']],
  ['domain=other.example', []],
  ['sender=HELLO@Example.test', ['new', 'full', 'spam', 'refused', 'tenant', 'both']],
  ['sender=hello@xn--bcher-kva.example', ['domain']],
  ['sender=ello@example.test', []],
  ['sender=hello@example.org', []],
  ['sender=hello@example.test&tag=orders', ['new', 'tenant']],
  ['sender=hello@example.test&recipient=cy@example.net', ['both']],
  ['sender=hello@example.test&subject=full', ['full']],
  ['tag=orders', ['new', 'tenant']],
  ['tag=Orders', []],
  ['tenant_id=shop-1', ['tenant']],
  ['sandbox=true', ['domain']],
  ['sandbox=false', ['new', 'full', 'spam', 'refused', 'tenant', 'both']],
  ['status=bounced&reason=spam_blocked', ['spam']],
  ['feedback=late_bounce', ['new', 'tenant']],
  ['feedback=complaint', ['new']],
  ['feedback=late_bounce&tag=orders&tenant_id=shop-1', ['tenant']],
  ['feedback=late_bounce&status=bounced', []],
  ['feedback=late_bounce&recipient=ANN@example.net', ['new', 'tenant']],
  ['feedback=complaint&recipient=bob@bücher.example', []],
  ['feedback=late_bounce&recipient_domain=Example.NET', ['new', 'tenant']],
  ['feedback=late_bounce&recipient_domain=example.org', []],
  ['feedback=late_bounce&subject=tenant', ['tenant']],
  ['feedback=complaint&metadata.order=7', ['new']],
  ['feedback=complaint&metadata.order=8', []],
  ['bounced_by=microsoft', ['full']],
  ['bounced_by=Outlook.com', ['full']],
  ['bounced_by=google', ['spam']],
  ['bounced_by=google&recipient_domain=example.net', ['spam']],
  ['bounced_by=google&recipient=bob@bücher.example', []],
  ['bounced_by=microsoft&subject=full', ['full']],
  ['bounced_by=microsoft&subject=spam', []],
  ['bounced_by=other.example', []],
  ['bounced_by=192.0.2.1', ['spam']],
  ['bounced_by=2001:DB8:0::1', ['full']],
  ['bounced_by=192.0.2.2', []],
  ['status=rejected&reason=spam_blocked', []],
  ['recipient=ann@example.net&tag=orders', ['new', 'tenant']],
  ['recipient=ann@example.net&status=bounced&domain=example.test', ['spam', 'both']],
  ['tag=orders&tenant_id=shop-1&sandbox=false', ['tenant']],
])('filter %s', async (query, subjects) => {
  expect(await found(query)).toEqual(subjects)
})

test('from is included and to is excluded', async () => {
  const at = (agoMs: number) => new Date(now - agoMs).toISOString()
  expect(await found(`from=${at(DAY_MS)}&to=${at(HOUR_MS)}`)).toEqual(['full', 'spam'])
  expect(await found(`from=${at(DAY_MS - 1)}`)).toEqual(['new', 'full'])
  expect(await found(`to=${at(20 * DAY_MS)}`)).toEqual(['domain', 'both'])
  expect(await found(`from=${at(DAY_MS)}&to=${at(DAY_MS)}`)).toEqual([])
  expect(await found('to=2020-01-01')).toEqual([])
  expect(await found('from=9999-12-31T23:59:59.999Z')).toEqual([])
})

test('pages return every email once, with every filter', async () => {
  for (const filter of [
    '',
    'recipient=ann@example.net',
    'domain=example.test',
    'in_doubt=false',
    'feedback=late_bounce',
    'recipient=ann',
    'sender=hello@example.test',
  ]) {
    for (const limit of [1, 2, 3]) {
      const seen: string[] = []
      for (let cursor = ''; ; ) {
        const { json } = await list(`${filter}&limit=${limit}${cursor && `&cursor=${cursor}`}`)
        expect(json.has_more).toBe(json.next_cursor !== undefined)
        seen.push(...json.emails.map(({ subject }: { subject: string }) => subject))
        if (!json.has_more) break
        expect(json.emails).toHaveLength(limit)
        cursor = json.next_cursor
      }
      expect(seen).toEqual(await found(filter))
    }
  }
})

test('an email whose send is running is not listed, and is listed when the send ends', async () => {
  const { world } = api
  const ends = Promise.withResolvers<void>()
  world.exchanger.script = { dot: { after: ends.promise, act: '250 2.0.0 queued' } }
  const sending = api.send({ to: 'ann@example.net', subject: 'running' })
  await expect.poll(() => world.db.$count(openMessages)).toBe(1)
  expect(await found('')).toEqual(ALL)
  ends.resolve()
  await sending
  world.exchanger.script = {}
  expect(await found('')).toEqual(['running', ...ALL])
  expect(await found('domain=example.test&limit=1')).toEqual(['running'])
})

test('gRPC lists as REST does', async () => {
  const client = api.grpc(EmailService)
  const { emails, hasMore } = await client.listEmails({ status: DeliveryStatus.BOUNCED, limit: 1 })
  expect(hasMore).toBe(true)
  expect(emails).toMatchObject([
    {
      subject: 'full',
      status: DeliveryStatus.BOUNCED,
      recipients: [{ email: 'Bob@xn--bcher-kva.example', kind: RecipientKind.TO }],
    },
  ])
})

test('the list shows what Get email shows', async () => {
  const { json: sent } = await api.send({
    to: ['ann@example.net', 'invalid_address@simulator.test'],
    tenant_id: 'same',
  })
  const [listed] = (await list('tenant_id=same')).json.emails
  const { json: email } = await api.call('GET', `/api/v1/emails/${sent.message_id}`)
  const { recipients, ...rest } = listed
  expect(email).toMatchObject(rest)
  expect(email.recipients).toMatchObject(
    recipients.map(({ email, status }: Record<string, string>) => ({ email, status })),
  )
})

test.each([
  ['limit=0', 'limit'],
  ['limit=101', 'limit'],
  ['recipient=nn', 'recipient'],
  ['recipient=ann%20lee', 'recipient'],
  [`recipient=${'a'.repeat(65)}`, 'recipient'],
  ['recipient=@', 'recipient'],
  ['recipient=ann@', 'recipient'],
  ['limit=ten', 'limit'],
  ['status=deliverd', 'status'],
  ['reason=unknown', 'reason'],
  ['feedback=delivery', 'feedback'],
  ['sandbox=maybe', 'sandbox'],
  ['domain=localhost', 'domain'],
  ['domain=', 'domain'],
  ['sender=hello', 'sender'],
  ['domain=ann@example.net', 'domain'],
  ['tag=', 'tag'],
  [`tag=${'x'.repeat(101)}`, 'tag'],
  ['tag=a%0Ab', 'tag'],
  ['tenant_id=', 'tenant_id'],
  ['from=yesterday', 'from'],
  ['cursor=AAAA', 'cursor'],
  ['subject=', 'subject'],
  ['subject=%23%20-', 'subject'],
  [`subject=${'x'.repeat(201)}`, 'subject'],
  ['metadata=7', 'metadata'],
  ['metadata.=7', 'metadata.'],
  ['metadata.a%20b=7', 'metadata["a b"]'],
  [`metadata.a=${'x'.repeat(501)}`, 'metadata["a"]'],
  ['metadata.a=1&metadata[a]=2', 'metadata.a'],
  ['tag.a=1', 'tag.a'],
  ['message_id=msg_1', 'message_id'],
])('400 invalid_payload names the field: %s', async (query, field) => {
  const { status, json } = await list(query)
  expect([status, json.error, json.details?.[0]?.field]).toEqual([400, 'invalid_payload', field])
})

test('a cursor of other filters, or of a list of events, is refused', async () => {
  const { next_cursor: cursor } = (await list('limit=1')).json
  expect((await list(`limit=2&cursor=${cursor}`)).status).toBe(200)
  expect((await list(`status=bounced&cursor=${cursor}`)).status).toBe(400)
  await api.send()
  const events = (await api.call('GET', '/api/v1/events?limit=1')).json
  expect((await list(`cursor=${events.next_cursor}`)).status).toBe(400)
})

test('another account sees none of these emails', async () => {
  for (const query of ['', 'recipient=ann@example.net', 'domain=example.test', 'tenant_id=shop-1']) {
    expect((await list(query, api.keys.stranger)).json.emails).toEqual([])
  }
})

test('GET on a literal path is 405, and a message_id still leads to its email', async () => {
  for (const path of ['send', 'validate', 'batch']) {
    expect((await api.call('GET', `/api/v1/emails/${path}`)).status).toBe(405)
  }
  const [{ message_id }] = (await list('limit=1')).json.emails
  expect((await api.call('GET', `/api/v1/emails/${message_id}`)).json.message_id).toBe(message_id)
  expect((await api.call('GET', `/api/v1/emails/${publicId('msg', newId(now))}`)).status).toBe(404)
})
