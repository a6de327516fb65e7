import { RECEIPT } from './receipt-example.ts'

/**
 * The example of one operation: a request and its response. Requests work unchanged against a fresh `npm start`, except
 * that an id in a path must exist there.
 */
export interface Example {
  parameters?: Record<string, unknown>
  request?: unknown
  response: unknown
}

const MESSAGE_ID = 'msg_01jx3c7w5fe9c8m0t1q2r3s4v5'
export const EVENT_ID = 'evt_01jx3c7w9kfxr8bq6v2m4n5p7t'
const ACCEPTED = {
  mx: 'mx.simulator.test',
  ip: '127.0.0.1',
  code: 250,
  enhanced: '2.0.0',
  reply: 'Delivered',
  phase: 'dot',
  tls: null,
  duration_ms: 412,
  timings: { dns: 0, connect: 0.3, greeting: 0.6, ehlo: 0.3, mail: 0.4, rcpt: 0.1, data: 0.1, dot: 402.5 },
}

const RECIPIENT = 'delivered@simulator.test'
const SENDER = 'Shop <hello@example.test>'
const NO_ADDRESS = 'is not an email address the service can use. Expected ann@example.com or Ann Lee <ann@example.com>'
const OWN_DATA = { metadata: { order: '1234', customer: 'ada' }, tag: 'order-shipped' }
/** One red pixel. */
const LOGO = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'
const RAW = Buffer.from(
  ['From: Shop <hello@example.test>', `To: ${RECIPIENT}`, 'Subject: Order 1236', '', 'It is on its way.', ''].join(
    '\r\n',
  ),
).toString('base64')
/** An invitation to a call. */
const INVITE = Buffer.from(
  [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Shop//EN', 'METHOD:REQUEST', 'BEGIN:VEVENT', 'UID:1@example.test'],
    ...['DTSTAMP:20260131T120000Z', 'DTSTART:20260203T090000Z', 'SUMMARY:Call', 'ORGANIZER:mailto:hello@example.test'],
    ...[`ATTENDEE:mailto:${RECIPIENT}`, 'END:VEVENT', 'END:VCALENDAR', ''],
  ].join('\r\n'),
).toString('base64')

export const EVENT = {
  event_id: EVENT_ID,
  message_id: MESSAGE_ID,
  status: 'delivered',
  timestamp: '2026-01-31T12:00:00.412Z',
  recipient: RECIPIENT,
  sandbox: false,
  event: 'email.delivery',
  kind: 'to',
  tag: 'order-shipped',
  metadata: { order: '1234' },
}

const POSITION = 'AWtvrqk6OZ7pAAAAAQABAAAAAAL3AZ9GZ3CUdpm4rvF2xbR1oQ0F8q7x2K3Z'

const SAMPLE_ENDPOINT_ID = 'whk_01jxc3d2gwf95srb9y9xd6pz4d'

const REPLAYED = {
  replayed: true,
  event_id: EVENT_ID,
  message_id: MESSAGE_ID,
  dispatched_at: '2026-02-01T09:30:00.118Z',
  dispatch_id: 'dsp_01jx8r3k5me2x9c4v7b1n6q0wz',
  dispatches: [{ dispatch_id: 'dsp_01jx8r3k5me2x9c4v7b1n6q0wz', endpoint_id: SAMPLE_ENDPOINT_ID }],
}

const WEBHOOK = {
  endpoint_id: SAMPLE_ENDPOINT_ID,
  url: 'https://hooks.example.com/email',
  created_at: '2026-01-30T10:15:00.000Z',
  updated_at: '2026-01-30T10:15:00.000Z',
}
const HEALTH = {
  acknowledged: 1_198,
  failed: 2,
  success_rate: 0.9983,
  last_success_at: '2026-01-31T12:00:00.530Z',
  last_failure_at: '2026-01-31T07:41:09.004Z',
  consecutive_failures: 0,
  waiting: 0,
}
const DEFAULT_LISTS = { events: ['email.delivery'], statuses: ['delivered', 'bounced', 'rejected'] }
const CHOSEN_LISTS = { events: ['email.delivery', 'email.feedback'], statuses: ['delivered', 'bounced'] }
const NEW_HEALTH = { acknowledged: 0, failed: 0, success_rate: null, consecutive_failures: 0, waiting: 0 }
const ENDPOINT = { ...WEBHOOK, ...DEFAULT_LISTS, disabled: false, first: false }
const WAREHOUSE = {
  ...ENDPOINT,
  endpoint_id: 'whk_01jx8s2p4qe6t8w0y3z5b7d9f1',
  url: 'https://hooks.example.com/warehouse',
  description: 'warehouse',
  statuses: ['bounced'],
  tags: ['order-shipped'],
  disabled: true,
}
const TESTED = {
  event_id: 'evt_01jx8r1c7te4y8d3w6a0m5p9vx',
  dispatched_at: '2026-01-30T10:16:20.310Z',
  outcome: 'success_but_not_200',
  status_code: 204,
  duration_ms: 96,
  phases: { dns_ms: 3.4, connect_ms: 11.8, tls_ms: 26.7, head_ms: 54, body_ms: 0.1 },
}
const SECRET = 'whsec_c2hvd24gb25jZSBhbmQga2VwdCBieSB5b3UgYWxvbmU='

const DOMAIN_ID = 'dom_01jx3c7w2m8k4n6p9q1r5s7t3v'
const SELECTOR = 'v20260130-5f1c2d3e'
const CHECKED = { status: 'verified', last_checked_at: '2026-01-30T10:17:02.114Z' }
const SPF = 'v=spf1 ip4:192.0.2.25 -all'
const DKIM = ['v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0B...', '...AQIDAQAB']
const DOMAIN = {
  domain_id: DOMAIN_ID,
  domain: 'example.com',
  status: 'verified',
  records: [
    { record: 'SPF', type: 'TXT', host: 'rp.example.com', value: SPF, required: true, ...CHECKED, observed: [SPF] },
    {
      record: 'RETURN_PATH',
      type: 'MX',
      host: 'rp.example.com',
      value: '10 mail.verdict.example',
      required: true,
      ...CHECKED,
      observed: ['10 mail.verdict.example'],
    },
    {
      record: 'DKIM',
      type: 'TXT',
      host: `${SELECTOR}._domainkey.example.com`,
      value: DKIM.join(''),
      strings: DKIM,
      required: true,
      ...CHECKED,
      observed: [DKIM.join('')],
    },
    {
      record: 'DMARC',
      type: 'TXT',
      host: '_dmarc.example.com',
      value: 'v=DMARC1; p=none',
      required: true,
      ...CHECKED,
      observed: ['v=DMARC1; p=quarantine; rua=mailto:dmarc@example.com'],
    },
  ],
  warmup: { day: 2, daily_limit: 1_000, sent_today: 204, completes_at: '2026-02-04T00:00:00.000Z' },
  dkim: {
    selector: SELECTOR,
    key_bits: 2_048,
    keys: [{ selector: SELECTOR, state: 'active', key_bits: 2_048, created_at: '2026-01-30T10:15:00.000Z' }],
  },
  sending: 'active',
  require_tls: false,
  created_at: '2026-01-30T10:15:00.000Z',
  verified_at: '2026-01-30T10:17:02.114Z',
}
const { verified_at: _, ...NEW_DOMAIN } = {
  ...DOMAIN,
  status: 'pending',
  records: DOMAIN.records.map(({ last_checked_at: _, ...record }) => ({ ...record, status: 'pending', observed: [] })),
  warmup: null,
}
const NEXT_SELECTOR = 'v20260801-9a8b7c6d'

const IMPORT_ID = 'imp_01jx5be5r0f3s8n1m6k4z9w2ct'
const SUPPRESSED = {
  email: 'ada@recipient.example',
  scope: 'tenant',
  tenant_id: 'tenant_1',
  reason: 'manual',
  created_at: '2026-01-31T12:00:00.000Z',
}
const BOUNCED = {
  email: 'bob@recipient.example',
  scope: 'account',
  reason: 'bounce',
  message_id: MESSAGE_ID,
  detail: '5.1.1 User unknown',
  created_at: '2026-08-01T09:00:00.000Z',
  expires_at: '2026-08-08T09:00:00.000Z',
  evidence: {
    kind: 'unknown',
    decided_by: 'words',
    words: 'User unknown',
    code: 550,
    enhanced: '5.1.1',
    reply: '5.1.1 User unknown',
    read_as: 'mailbox (unknown)',
    phase: 'rcpt',
    last_delivered_at: '2026-07-30T16:20:00.000Z',
  },
}

export const EXAMPLES: Record<string, Example> = {
  'EmailService.Send': {
    request: {
      to: `Ada Lovelace <${RECIPIENT}>`,
      from: SENDER,
      subject: 'Your order has been shipped',
      text: 'Hello, your order 1234 left our warehouse today.',
      ...OWN_DATA,
      html: '<img src="cid:logo" alt="Shop"><p>Hello, your order 1234 left our warehouse today.</p>',
      attachments: [{ filename: 'logo.png', content: LOGO, content_id: 'logo' }],
    },
    response: { status: 'delivered', message_id: MESSAGE_ID, smtp: ACCEPTED },
  },
  'EmailService.Validate': {
    request: {
      to: [`Ada Lovelace <${RECIPIENT}>`],
      cc: ['"Byron, Anne" <delivered+anne@simulator.test>'],
      bcc: ['delivered+archive@simulator.test'],
      from: SENDER,
      reply_to: ['Orders <orders@example.test>', 'ada@example.test'],
      subject: 'Your order has been shipped',
      html: '<p>Hello, your order <b>1234</b> left our warehouse today.</p>',
      auto_text: true,
      attachments: [{ filename: 'invite.ics', content: INVITE, content_type: 'text/calendar; method=REQUEST' }],
    },
    response: {
      status: 'delivered',
      message_id: MESSAGE_ID,
      recipients: [
        { email: RECIPIENT, status: 'delivered', kind: 'to' },
        { email: 'delivered+anne@simulator.test', status: 'delivered', kind: 'cc' },
        { email: 'delivered+archive@simulator.test', status: 'delivered', kind: 'bcc' },
      ],
      sandbox: true,
      checks: [
        { name: 'payload', passed: true },
        { name: 'domain', passed: true },
        { name: 'warm_up', passed: true },
        { name: 'quota', passed: true },
        { name: 'breaker', passed: true },
        { name: 'address', passed: true },
        { name: 'suppression', passed: true },
        { name: 'recipient_mx', passed: true },
      ],
    },
  },
  'EmailService.SendBatch': {
    request: {
      emails: [
        { to: RECIPIENT, from: SENDER, subject: 'Order 1234', text: 'It is on its way.' },
        { to: RECIPIENT, raw: RAW },
        { to: 'nobody', from: SENDER, subject: 'Order 1235', text: 'It is on its way.' },
      ],
    },
    response: {
      results: [
        { index: 0, status: 'delivered', message_id: MESSAGE_ID, smtp: ACCEPTED },
        { index: 1, status: 'delivered', message_id: MESSAGE_ID, smtp: ACCEPTED },
        {
          index: 2,
          error: 'invalid_address',
          message: `to ${NO_ADDRESS}.`,
          details: [{ field: 'to', message: NO_ADDRESS }],
        },
      ],
      summary: { total: 3, delivered: 2, bounced: 0, rejected: 0, failed: 1 },
    },
  },
  'EmailService.ListRefusedSends': {
    parameters: { error: 'rate_limit_exceeded', limit: 50 },
    response: {
      refused_sends: [
        {
          request_id: '6c2f7c55-7d0a-4a4f-9a52-0c2a8a5b8a11',
          at: '2026-01-31T12:00:00.000Z',
          status: 429,
          error: 'rate_limit_exceeded',
          message: 'The circuit breaker of the sending domain admitted no more.',
          fields: [],
          from: 'hello@example.com',
          recipients: [RECIPIENT],
          key_id: 'key_01jexamp1e000000000000000b',
          protocol: 'rest',
          count: 1,
        },
      ],
      not_stored: 0,
      has_more: false,
    },
  },
  'EmailService.ListEmails': {
    parameters: { status: 'delivered', limit: 50 },
    response: {
      emails: [
        {
          message_id: MESSAGE_ID,
          status: 'delivered',
          from: SENDER,
          subject: 'Your order has been shipped',
          recipients: [{ email: RECIPIENT, kind: 'to', status: 'delivered' }],
          tag: 'orders',
          metadata: { order: '1234' },
          sandbox: false,
          createdAt: '2026-01-31T12:00:00.000Z',
          completedAt: '2026-01-31T12:00:00.412Z',
          feedback: [{ kind: 'complaint', reported_at: '2026-02-01T08:15:00.000Z', recipient: RECIPIENT }],
        },
      ],
      has_more: false,
    },
  },
  'EmailService.GetEmail': {
    parameters: { id: MESSAGE_ID },
    response: {
      message_id: MESSAGE_ID,
      status: 'delivered',
      from: SENDER,
      to: [`Ada Lovelace <${RECIPIENT}>`],
      subject: 'Your order has been shipped',
      headers: {},
      sandbox: false,
      size_bytes: 2_318,
      attachments: [{ filename: 'logo.png', content_type: 'image/png', size_bytes: 69, content_id: 'logo' }],
      recipients: [{ email: RECIPIENT, status: 'delivered', smtp: ACCEPTED, kind: 'to' }],
      events: [
        {
          event_id: EVENT_ID,
          status: 'delivered',
          recipient: RECIPIENT,
          timestamp: '2026-01-31T12:00:00.412Z',
        },
      ],
      createdAt: '2026-01-31T12:00:00.000Z',
      completedAt: '2026-01-31T12:00:00.412Z',
      expiresAt: '2026-05-01T12:00:00.000Z',
      feedback: [
        {
          kind: 'complaint',
          reported_at: '2026-02-01T08:15:00.000Z',
          recipient: RECIPIENT,
          detail: 'abuse',
        },
      ],
      ...OWN_DATA,
    },
  },
  'ReceiptService.GetReceipt': { parameters: { id: MESSAGE_ID }, response: { receipt: RECEIPT } },
  'EventService.ListEvents': {
    parameters: { limit: 50 },
    response: {
      events: [
        {
          ...EVENT,
          event_id: 'evt_01jx5be5r0f3s8n1m6k4z9w2ct',
          timestamp: '2026-02-01T08:15:00.000Z',
          attempts: 0,
          event: 'email.feedback',
          feedback: 'complaint',
          detail: 'abuse',
        },
        { ...EVENT, attempts: 1, acknowledged_at: '2026-01-31T12:00:00.530Z', smtp: ACCEPTED },
      ],
      has_more: false,
    },
  },
  'EventService.ListChanges': {
    parameters: { after: 'begin', limit: 50 },
    response: {
      events: [{ event: { ...EVENT, attempts: 0, smtp: ACCEPTED }, position: POSITION }],
      position: POSITION,
      has_more: false,
    },
  },
  'EventService.GetEvent': {
    parameters: { event_id: EVENT_ID },
    response: {
      ...EVENT,
      attempts: 2,
      acknowledged_at: '2026-01-31T12:01:00.930Z',
      dispatches: [
        {
          dispatch_id: EVENT_ID.replace('evt', 'dsp'),
          kind: 'original',
          state: 'acknowledged',
          created_at: '2026-01-31T12:00:00.412Z',
          ended_at: '2026-01-31T12:01:00.930Z',
          endpoint_id: SAMPLE_ENDPOINT_ID,
          workflow_id: `webhook-${EVENT_ID}-${EVENT_ID.slice(-10)}`,
          attempts: [
            {
              number: 1,
              started_at: '2026-01-31T12:00:00.430Z',
              finished_at: '2026-01-31T12:00:00.530Z',
              outcome: 'not_200',
              status_code: 503,
              duration_ms: 100,
              phases: { dns_ms: 4.2, connect_ms: 11.3, tls_ms: 25.1, head_ms: 58.9, body_ms: 0.4 },
              response_excerpt: 'upstream is restarting',
            },
            {
              number: 2,
              started_at: '2026-01-31T12:01:00.852Z',
              finished_at: '2026-01-31T12:01:00.930Z',
              outcome: 'acked',
              status_code: 200,
              duration_ms: 78,
              phases: { dns_ms: 1.1, connect_ms: 10.2, tls_ms: 24.1, head_ms: 42.3, body_ms: 0.2 },
            },
          ],
        },
      ],
      smtp: ACCEPTED,
    },
  },
  'EventService.ReplayEvent': { parameters: { event_id: EVENT_ID }, response: REPLAYED },
  'EventService.ReplayMessage': {
    parameters: { message_id: MESSAGE_ID },
    response: { replayed: true, message_id: MESSAGE_ID, count: 1, events: [REPLAYED] },
  },
  'WebhookService.ListEndpoints': {
    response: { endpoints: [{ ...ENDPOINT, first: true, health: HEALTH }] },
  },
  'WebhookService.CreateEndpoint': {
    request: {
      url: 'https://hooks.example.com/warehouse',
      description: 'warehouse',
      statuses: ['bounced'],
      tags: ['order-shipped'],
      disabled: true,
    },
    response: { ...WAREHOUSE, secret: SECRET, health: NEW_HEALTH },
  },
  'WebhookService.GetEndpoint': {
    parameters: { endpoint_id: SAMPLE_ENDPOINT_ID },
    response: { ...ENDPOINT, first: true, health: HEALTH },
  },
  'WebhookService.UpdateEndpoint': {
    parameters: { endpoint_id: SAMPLE_ENDPOINT_ID },
    request: { description: 'billing', domains: ['example.com'] },
    response: {
      ...ENDPOINT,
      description: 'billing',
      domains: ['example.com'],
      first: true,
      updated_at: '2026-01-31T12:30:00.000Z',
      health: HEALTH,
    },
  },
  'WebhookService.DeleteEndpoint': { parameters: { endpoint_id: SAMPLE_ENDPOINT_ID }, response: {} },
  'WebhookService.TestEndpoint': { parameters: { endpoint_id: SAMPLE_ENDPOINT_ID }, response: TESTED },
  'WebhookService.RotateEndpointSecret': {
    parameters: { endpoint_id: SAMPLE_ENDPOINT_ID },
    response: {
      ...ENDPOINT,
      first: true,
      updated_at: '2026-01-31T12:30:00.000Z',
      secret: SECRET,
      previous_secret_until: '2026-02-01T12:30:00.000Z',
      health: HEALTH,
    },
  },
  'WebhookService.GetWebhook': { response: { ...WEBHOOK, health: HEALTH, ...DEFAULT_LISTS } },
  'WebhookService.PutWebhook': {
    request: { url: WEBHOOK.url, ...CHOSEN_LISTS },
    response: { ...WEBHOOK, secret: SECRET, health: NEW_HEALTH, ...CHOSEN_LISTS },
  },
  'WebhookService.DeleteWebhook': { response: {} },
  'WebhookService.TestWebhook': { response: TESTED },
  'WebhookService.RotateSecret': {
    response: {
      ...WEBHOOK,
      updated_at: '2026-01-31T12:30:00.000Z',
      secret: SECRET,
      previous_secret_until: '2026-02-01T12:30:00.000Z',
      health: HEALTH,
      ...DEFAULT_LISTS,
    },
  },
  'StatsService.GetStats': {
    parameters: { from: '2026-01-30', to: '2026-02-01', granularity: 'day', domain: 'example.com', by: 'provider' },
    response: {
      from: '2026-01-30T00:00:00.000Z',
      to: '2026-02-01T00:00:00.000Z',
      granularity: 'day',
      totals: {
        sent: 2_000,
        delivered: 1_960,
        bounced: 40,
        rejected: 12,
        complaints: 1,
        delivery_rate: 0.98,
        bounce_rate: 0.02,
        complaint_rate: 0.0005,
        late_bounces: 3,
      },
      reasons: {
        mailbox_full: 6,
        mailbox_does_not_exist: 22,
        no_mx_record: 5,
        connection_timeout: 3,
        policy_block: 1,
        spam_blocked: 1,
        temporary_failure: 2,
        suppression_list: 9,
        invalid_address: 3,
        domain_not_verified: 0,
      },
      latency_ms: { p50: 431, p95: 1_620, p99: 3_204 },
      series: [
        { period: '2026-01-30T00:00:00.000Z', sent: 1_200, delivered: 1_180, bounced: 20, rejected: 12 },
        { period: '2026-01-31T00:00:00.000Z', sent: 800, delivered: 780, bounced: 20, rejected: 0 },
      ],
      domains: [{ domain: 'example.com', sending: 'active' }],
      groups: [
        {
          key: 'google',
          sent: 1_500,
          delivered: 1_488,
          bounced: 12,
          rejected: 0,
          complaints: 1,
          in_doubt: 1,
          p95_ms: 980,
          reasons: { mailbox_full: 4, mailbox_does_not_exist: 7, connection_timeout: 1 },
        },
        {
          key: 'microsoft',
          sent: 495,
          delivered: 472,
          bounced: 23,
          rejected: 0,
          complaints: 0,
          in_doubt: 0,
          p95_ms: 2_310,
          reasons: {
            mailbox_full: 2,
            mailbox_does_not_exist: 15,
            connection_timeout: 2,
            policy_block: 1,
            spam_blocked: 1,
            temporary_failure: 2,
          },
        },
        {
          key: '',
          sent: 5,
          delivered: 0,
          bounced: 5,
          rejected: 12,
          complaints: 0,
          in_doubt: 0,
          p95_ms: 24,
          reasons: { no_mx_record: 5, suppression_list: 9, invalid_address: 3 },
        },
      ],
    },
  },
  'DomainService.ListDomains': { response: { domains: [DOMAIN] } },
  'DomainService.CreateDomain': { request: { domain: 'example.com' }, response: NEW_DOMAIN },
  'DomainService.GetDomain': { parameters: { id: DOMAIN_ID }, response: DOMAIN },
  'DomainService.UpdateDomain': {
    parameters: { id: DOMAIN_ID },
    request: { require_tls: true },
    response: { ...DOMAIN, require_tls: true },
  },
  'DomainService.DeleteDomain': { parameters: { id: DOMAIN_ID }, response: {} },
  'DomainService.VerifyDomain': { parameters: { id: DOMAIN_ID }, response: DOMAIN },
  'DomainService.RotateDkim': {
    parameters: { id: DOMAIN_ID },
    response: {
      ...DOMAIN,
      records: [
        ...DOMAIN.records,
        {
          record: 'DKIM',
          type: 'TXT',
          host: `${NEXT_SELECTOR}._domainkey.example.com`,
          value: DKIM.join(''),
          strings: DKIM,
          required: false,
          status: 'pending',
          observed: [],
        },
      ],
      warmup: null,
      dkim: {
        ...DOMAIN.dkim,
        keys: [
          ...DOMAIN.dkim.keys,
          { selector: NEXT_SELECTOR, state: 'next', key_bits: 2_048, created_at: '2026-08-01T09:00:00.000Z' },
        ],
      },
    },
  },
  'SuppressionService.Import': {
    request: { emails: ['Ada@recipient.example', 'bob@recipient.example', 'not an address'] },
    response: {
      imported: 1,
      already_suppressed: 1,
      invalid: 1,
      total: 3,
      errors: [{ index: 2, email: 'not an address', error: 'invalid_address' }],
      import_id: IMPORT_ID,
    },
  },
  'SuppressionService.UndoImport': {
    parameters: { import_id: IMPORT_ID },
    response: { removed: 1, restored: 0 },
  },
  'SuppressionService.List': {
    parameters: { email: 'bob@recipient.example', limit: 50 },
    response: { entries: [BOUNCED], has_more: false },
  },
  'SuppressionService.Add': {
    request: { email: 'Ada@recipient.example', tenant_id: 'tenant_1' },
    response: SUPPRESSED,
  },
  'SuppressionService.Remove': {
    parameters: { email: 'ada@recipient.example', tenant_id: 'tenant_1' },
    response: {},
  },
  'SuppressionService.Lift': {
    request: {
      created_from: '2026-08-01T07:00:00Z',
      created_to: '2026-08-01T13:00:00Z',
      domain: 'recipient.example',
      kind: 'unknown',
    },
    response: { lifted: 1, entries: [BOUNCED] },
  },
  'AccountService.GetAccount': {
    response: {
      account_id: 'acc_01jexamp1e000000000000000a',
      name: 'Example Shop',
      mode: 'live',
      scopes: ['emails.read', 'emails.send'],
      key_id: 'key_01jexamp1e000000000000000b',
      key_expires_at: '2027-01-31T00:00:00.000Z',
      tier: 'pro',
      region: 'eu-central',
    },
  },
  'LimitsService.GetLimits': {
    response: {
      tier: 'pro',
      requests_per_minute: 600,
      sizes: {
        request_bytes: 15_728_640,
        html_bytes: 2_097_152,
        text_bytes: 2_097_152,
        attachments_bytes: 10_485_760,
        subject_characters: 998,
        header_value_characters: 998,
        tenant_id_characters: 128,
        metadata_bytes: 4_096,
        metadata_key_characters: 40,
        metadata_value_characters: 500,
        tag_characters: 100,
        filename_characters: 1_024,
      },
      counts: {
        recipients: 50,
        attachments: 10,
        headers: 50,
        batch_emails: 100,
        import_addresses: 10_000,
        reply_to: 10,
        metadata_pairs: 20,
      },
      domains: [
        { domain: 'example.com', daily_limit: 500, sent_today: 42 },
        { domain: 'example.org', daily_limit: null, sent_today: 12_034 },
      ],
    },
  },
}

const SANDBOX = {
  name: 'X-Service-Sandbox',
  in: 'header',
  description: '`true` for a dry run: the service makes every check and sends nothing. Case does not matter.',
  schema: { type: 'string', enum: ['true', 'false'] },
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Your own key for this request, such as `order-1234`. A repeat within 24 hours sends nothing and returns the first response.',
  schema: { type: 'string', pattern: '^[ -~]{1,256}$' },
}

/** Request headers, by operation, in addition to those that every operation accepts. */
export const HEADERS: Record<string, object[]> = {
  'EmailService.Send': [SANDBOX, IDEMPOTENCY_KEY],
  'EmailService.Validate': [IDEMPOTENCY_KEY],
  'EmailService.SendBatch': [SANDBOX, IDEMPOTENCY_KEY],
}

/** Whether an operation accepts an idempotency key, and so may return a stored response. */
export function takesIdempotencyKey(name: string): boolean {
  return HEADERS[name]?.includes(IDEMPOTENCY_KEY) ?? false
}
