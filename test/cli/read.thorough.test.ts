import { createServer } from 'node:http'
import { afterEach, expect, test, vi } from 'vitest'
import { runCli } from '../../cli/run.ts'
import { listenUntilEnd } from '../harness/until-end.ts'

// The commands that read: their requests, and the text that they make of the response.

afterEach(() => void vi.unstubAllEnvs())

/** Sends the same response to every request and keeps the URLs. */
async function service(body: object, status = 200) {
  const urls: (string | undefined)[] = []
  const server = createServer((request, response) => {
    urls.push(request.url)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  vi.stubEnv('VERDICT_URL', `http://127.0.0.1:${await listenUntilEnd(server)}`)
  vi.stubEnv('VERDICT_API_KEY', 'svc_live_x')
  return urls
}

const EVIDENCE = {
  mx: 'mx1.r.example',
  ip: '192.0.2.1',
  code: 550,
  enhanced: '5.7.1',
  reply: '5.7.1 Not wanted',
  phase: 'rcpt',
  tls: { version: 'TLSv1.3', verified: true },
  duration_ms: 312,
  timings: { dns: 1.2, connect: 30, rcpt: 28.4 },
  reused: true,
  tried: [{ mx: 'mx0.r.example', ip: '192.0.2.9', phase: 'connect', detail: 'ECONNREFUSED 192.0.2.9' }],
}

const EMAIL = {
  message_id: 'msg_1',
  status: 'bounced',
  reason: 'policy_block',
  from: 'Shop <a@shop.example>',
  to: ['Ann <ann@r.example>'],
  cc: ['bob@r.example'],
  subject: 'Order 7',
  headers: { 'X-Order': '7' },
  tag: 'orders',
  metadata: { order: '7', basket: 'b-1' },
  tenant_id: 'shop-1',
  retry_of: 'msg_0',
  retried_by: ['msg_2', 'msg_3'],
  sandbox: false,
  size_bytes: 2318,
  attachments: [{ filename: 'a.pdf', content_type: 'application/pdf', size_bytes: 4 }],
  recipients: [
    { email: 'ann@r.example', kind: 'to', status: 'bounced', reason: 'policy_block', smtp: EVIDENCE },
    {
      email: 'bob@r.example',
      kind: 'cc',
      status: 'rejected',
      reason: 'suppression_list',
      detail: 'bob@r.example is on the suppression list.',
      suppression: { scope: 'account', cause: 'bounce', since: '2026-01-01T00:00:00.000Z' },
    },
    {
      email: 'cy@s.example',
      kind: 'to',
      status: 'bounced',
      reason: 'temporary_failure',
      retryable: true,
      smtp: { phase: 'dns', tls: null, duration_ms: 9, detail: 'SERVFAIL' },
    },
  ],
  events: [{ event_id: 'evt_1', status: 'bounced', recipient: 'ann@r.example', timestamp: '2026-01-31T12:00:00.412Z' }],
  feedback: [
    {
      kind: 'late_bounce',
      reason: 'mailbox_full',
      reported_at: '2026-02-01T00:00:00.000Z',
      recipient: 'ann@r.example',
      detail: 'Over quota',
    },
  ],
  createdAt: '2026-01-31T12:00:00.000Z',
  completedAt: '2026-01-31T12:00:00.412Z',
  expiresAt: '2026-05-01T12:00:00.000Z',
}

test('email get tells the whole story of an email, evidence included', async () => {
  const urls = await service(EMAIL)
  const { json, text, exit } = await runCli(['email', 'get', 'msg_1'])
  expect(urls).toEqual(['/api/v1/emails/msg_1'])
  expect([json, exit]).toEqual([EMAIL, undefined])
  expect(text).toBe(`msg_1: bounced, policy_block; reported later: late_bounce
  From:        Shop <a@shop.example>
  To:          Ann <ann@r.example>
  Cc:          bob@r.example
  Subject:     Order 7
  X-Order:     7
  Tag:         orders
  Metadata:    order=7, basket=b-1
  Tenant:      shop-1
  Retry of:    msg_0
  Retried by:  msg_2, msg_3
  Attachments: a.pdf (application/pdf, 4 bytes)
  Size:        2318 bytes
  Created:     2026-01-31T12:00:00.000Z, completed after 412 ms
  Kept until:  2026-05-01T12:00:00.000Z
Recipients:
  ann@r.example: bounced, policy_block
    tried mx0.r.example [192.0.2.9]: ECONNREFUSED 192.0.2.9 (connect)
    mx1.r.example [192.0.2.1] replied 550 5.7.1 Not wanted (rcpt)
    312 ms, open connection, TLSv1.3, valid certificate
    ms: dns 1.2, connect 30, rcpt 28.4
  bob@r.example (cc): rejected, suppression_list
    bob@r.example is on the suppression list.
    suppressed since 2026-01-01T00:00:00.000Z: bounce, account
  cy@s.example: bounced, temporary_failure (you may send it again)
    the server gave no reply (dns)
    SERVFAIL
    9 ms
Events:
  evt_1 at 2026-01-31T12:00:00.412Z: ann@r.example bounced
Reports after the outcome:
  late_bounce about ann@r.example at 2026-02-01T00:00:00.000Z, mailbox_full: Over quota`)
})

test('an email of a running send, or of another account, is not found', async () => {
  await service({ error: 'not_found', message: 'There is no email "msg_2" in this account.' }, 404)
  await expect(runCli(['email', 'get', 'msg_2'])).rejects.toMatchObject({ exit: 'not_found' })
})

const LISTED = {
  message_id: 'msg_1',
  status: 'delivered',
  from: 'a@shop.example',
  subject: 'Your order of the first of January has been shipped',
  recipients: [
    { email: 'ann@r.example', status: 'delivered' },
    { email: 'bob@r.example', status: 'delivered' },
  ],
  sandbox: true,
  createdAt: '2026-01-31T12:00:00.000Z',
}

test('emails are listed by filters, with the cursor of the next page', async () => {
  const urls = await service({ emails: [LISTED], next_cursor: 'abc', has_more: true })
  const filters = '--status bounced --recipient b+x@r.example --tenant t --tag x --domain shop.example --live'
  const terms = ['--subject', 'order 4102', '--metadata', 'order=4=1', '--metadata', 'a.b=c']
  const { text } = await runCli(['emails', ...filters.split(' '), ...terms, '--from', '2026-01-31'])
  expect(
    text,
  ).toBe(`TIME                      STATUS               REASON  RECIPIENT                 SUBJECT                                              MESSAGE
2026-01-31T12:00:00.000Z  delivered (dry run)  -       ann@r.example and 1 more  Your order of the first of January has been shipped  msg_1

More: --cursor abc`)
  const query = new URLSearchParams(urls[0]!.split('?')[1])
  expect(Object.fromEntries(query)).toEqual({
    status: 'bounced',
    recipient: 'b+x@r.example',
    tenant_id: 't',
    tag: 'x',
    domain: 'shop.example',
    sandbox: 'false',
    from: '2026-01-31',
    subject: 'order 4102',
    'metadata.order': '4=1',
    'metadata.a.b': 'c',
  })
})

test('a pair of metadata without a key is refused', async () => {
  await expect(runCli(['emails', '--metadata', '=7'])).rejects.toThrow(
    'It needs a key and a value, such as order=4102.',
  )
})

test.each([
  ['bounced, with the recipient that bounced', [], 'bounced  mailbox_full  bob@r.example and 2 more (1 of 3 failed)'],
  ['that of the recipient that is sought', ['--recipient', 'ANN@r.example'], 'delivered  -       ann@r.example and 2'],
])('the status of a listed email is %s', async (_, filters, line) => {
  const recipients = [
    { email: 'ann@r.example', status: 'delivered' },
    { email: 'bob@r.example', status: 'bounced', reason: 'mailbox_full' },
    { email: 'cy@r.example', status: 'delivered' },
  ]
  const email = { ...LISTED, sandbox: false, status: 'bounced', reason: 'mailbox_full', recipients }
  await service({ emails: [email], has_more: false })
  expect((await runCli(['emails', ...filters])).text).toContain(line)
})

test('a listed email that came back says so, and names the recipient', async () => {
  const recipients = ['ann@r.example', 'bob@r.example'].map((email) => ({ email, status: 'delivered' }))
  const feedback = [
    { kind: 'late_bounce', recipient: 'bob@r.example' },
    { kind: 'late_bounce', recipient: 'ann@r.example', member: true },
  ]
  const email = { ...LISTED, sandbox: false, status: 'delivered', recipients, feedback }
  const urls = await service({ emails: [email], has_more: false })
  const text = async (...args: string[]) => (await runCli(['emails', ...args])).text
  expect(await text('--feedback', 'late_bounce')).toMatch(/delivered, late_bounce +- +bob/)
  expect(await text('--recipient', 'ann@r.example')).toMatch(/delivered, late_bounce of a member +- +ann/)
  expect(urls[0]).toBe('/api/v1/emails?feedback=late_bounce')
})

test('emails without filters have no query, and an empty list says so', async () => {
  const urls = await service({ emails: [], has_more: false })
  expect((await runCli(['emails'])).text).toBe('No email matches.')
  await runCli(['emails', '--sandbox'])
  expect(urls).toEqual(['/api/v1/emails', '/api/v1/emails?sandbox=true'])
})

test.each([
  [['emails', '--status', 'deliverd'], "argument 'deliverd' is invalid. Allowed choices are delivered, bounced"],
  [['emails', '--sandbox', '--live'], "option '--sandbox' cannot be used with option '--live'"],
  [['stats', '--granularity', 'week'], 'Allowed choices are minute, hour, day, total.'],
  [['completion', 'powershell'], 'Allowed choices are bash, zsh, fish.'],
  [['email'], 'get [options] <message_id>'],
])('%s is a usage error', async (args, part) => {
  await expect(runCli(args)).rejects.toMatchObject({ exit: 'usage', message: expect.stringContaining(part) })
})

test('stats shows counts, rates and the periods in which something happened', async () => {
  const stats = {
    from: '2026-01-30T00:00:00.000Z',
    to: '2026-02-02T00:00:00.000Z',
    granularity: 'day',
    totals: {
      sent: 2000,
      delivered: 1960,
      bounced: 40,
      rejected: 12,
      complaints: 1,
      late_bounces: 3,
      delivery_rate: 0.98,
      bounce_rate: 0.02,
      complaint_rate: 0.0005,
    },
    reasons: { mailbox_full: 40, no_mx_record: 0, suppression_list: 12 },
    latency_ms: { p50: 431, p95: 1620, p99: 3204 },
    series: [
      { period: '2026-01-30T00:00:00.000Z', sent: 2000, delivered: 1960, bounced: 40, rejected: 0 },
      { period: '2026-01-31T00:00:00.000Z', sent: 0, delivered: 0, bounced: 0, rejected: 0 },
      { period: '2026-02-01T00:00:00.000Z', sent: 0, delivered: 0, bounced: 0, rejected: 12 },
    ],
    domains: [
      { domain: 'shop.example', sending: 'active' },
      { domain: 'news.example', sending: 'paused' },
    ],
  }
  const urls = await service(stats)
  const { text, json } = await runCli(['stats', '--from', '2026-01-30', '--domain', 'shop.example', '--tenant', 't'])
  expect(json).toEqual(stats)
  expect(urls).toEqual(['/api/v1/stats?from=2026-01-30&domain=shop.example&tenant_id=t'])
  expect(text).toBe(`2026-01-30T00:00:00.000Z to 2026-02-02T00:00:00.000Z: 2000 sent
  delivered  1960 (98.00 %)
  bounced    40 (2.00 %), and 3 late
  complaints 1 (0.05 %)
  rejected   12
Reasons: mailbox_full 40, suppression_list 12
Time to the outcome: p50 431 ms, p95 1620 ms, p99 3204 ms
news.example is paused.

PERIOD                    SENT  DELIVERED  BOUNCED  REJECTED
2026-01-30T00:00:00.000Z  2000  1960       40       0
2026-02-01T00:00:00.000Z  0     0          0        12`)
})

test('stats and limits say what a count of zero leaves out', async () => {
  const totals = { sent: 0, delivered: 0, bounced: 0, rejected: 0, complaints: 0, late_bounces: 0 }
  const rates = { delivery_rate: null, bounce_rate: null, complaint_rate: null }
  const latency_ms = { p50: null, p95: null, p99: null }
  const lists = { reasons: {}, series: [] }
  await service({
    from: 'a',
    to: 'b',
    totals: { ...totals, ...rates },
    latency_ms,
    domains: [],
    ...lists,
  })
  expect((await runCli(['stats'])).text).toMatch(/\nDry runs and emails to the simulator are not counted\.$/)

  const domains = [{ domain: 'shop.example', daily_limit: 500, sent_today: 0 }]
  const month = { from: 'a', ends_at: '2026-12-01T00:00:00Z', quota: null, used: 0, domains: [] }
  await service({ tier: 'pro', requests_per_minute: 600, sizes: {}, counts: {}, domains, month })
  expect((await runCli(['limits'])).text).toMatch(/\nDry runs and emails to the simulator are not counted\.$/)
})

test('send prints why an email was rejected', async () => {
  const detail = 'ann@r.example is on the suppression list.'
  await service({ message_id: 'msg_1', status: 'rejected', reason: 'suppression_list', detail })
  const words = ['send', '--from', 'a@shop.example', '--to', 'ann@r.example', '--subject', 'Hi', '--text', 'Hi']
  expect((await runCli(words)).text).toBe(`msg_1: rejected, suppression_list\n    ${detail}
${process.env.VERDICT_URL}/dashboard/messages/msg_1`)
})

test('limits shows the rate limit, the limits of a request and the volume of domains', async () => {
  await service({
    tier: 'pro',
    requests_per_minute: 600,
    sizes: { request_bytes: 15_728_640 },
    counts: { recipients: 50 },
    domains: [
      { domain: 'shop.example', daily_limit: 500, sent_today: 42 },
      { domain: 'old.example', daily_limit: null, sent_today: 12_034 },
    ],
    month: {
      from: '2026-11-01',
      ends_at: '2026-12-01T00:00:00Z',
      quota: 3_000,
      used: 2_500,
      domains: [{ domain: 'old.example', sent: 2_500, simulated: 7 }],
    },
  })
  expect((await runCli(['limits'])).text).toBe(`Tier pro: 600 requests a minute
This month: 2500 of 3000 emails (83 %), until 2026-12-01 00:00 UTC

LIMIT OF A REQUEST  MOST
recipients          50
request bytes       15728640

DOMAIN        SENT TODAY  DAILY LIMIT  SENT THIS MONTH  SIMULATED
shop.example  42          500          0                0
old.example   12034       no limit     2500             7`)
})
