/** What a reader of the document sees of an operation, by its name: a request it takes and an answer it gives. */
export interface Example {
  parameters?: Record<string, unknown>
  request?: unknown
  answer: unknown
}

const MESSAGE_ID = 'msg_01jx3c7w5fe9c8m0t1q2r3s4v5'
const EVENT_ID = 'evt_01jx3c7w9kfxr8bq6v2m4n5p7t'
const ACCEPTED = {
  mx: 'mx1.recipient.example',
  ip: '203.0.113.25',
  code: 250,
  enhanced: '2.0.0',
  reply: 'Ok: queued as 4bXyZ1',
  phase: 'dot',
  tls: { version: 'TLSv1.3', verified: true },
  duration_ms: 412,
}

const SUPPRESSED = {
  email: 'ada@recipient.example',
  scope: 'tenant',
  tenant_id: 'tenant_1',
  reason: 'manual',
  created_at: '2026-01-31T12:00:00.000Z',
}

export const EXAMPLES: Record<string, Example> = {
  'EmailService.Send': {
    request: {
      to: 'ada@recipient.example',
      from: 'Shop <orders@example.com>',
      subject: 'Your order has been shipped',
      text: 'Hello Ada, your order 1234 left our warehouse today.',
    },
    answer: { status: 'delivered', message_id: MESSAGE_ID, smtp: ACCEPTED },
  },
  'EmailService.Validate': {
    request: {
      to: 'ada@recipient.example',
      from: 'Shop <orders@example.com>',
      subject: 'Your order has been shipped',
      text: 'Hello Ada, your order 1234 left our warehouse today.',
    },
    answer: {
      status: 'delivered',
      message_id: MESSAGE_ID,
      sandbox: true,
      checks: [
        { name: 'payload', passed: true },
        { name: 'domain', passed: true },
        { name: 'warm_up', passed: true },
        { name: 'breaker', passed: true },
        { name: 'address', passed: true },
        { name: 'suppression', passed: true },
        { name: 'recipient_mx', passed: true },
      ],
    },
  },
  'EmailService.GetEmail': {
    parameters: { id: MESSAGE_ID },
    answer: {
      message_id: MESSAGE_ID,
      status: 'delivered',
      from: 'Shop <orders@example.com>',
      to: ['ada@recipient.example'],
      subject: 'Your order has been shipped',
      headers: {},
      sandbox: false,
      size_bytes: 2_318,
      attachments: [],
      recipients: [{ email: 'ada@recipient.example', status: 'delivered', smtp: ACCEPTED }],
      events: [
        {
          event_id: EVENT_ID,
          status: 'delivered',
          recipient: 'ada@recipient.example',
          timestamp: '2026-01-31T12:00:00.412Z',
        },
      ],
      createdAt: '2026-01-31T12:00:00.000Z',
      completedAt: '2026-01-31T12:00:00.412Z',
      expiresAt: '2026-05-01T12:00:00.000Z',
    },
  },
  'EventService.ListEvents': {
    parameters: { message_id: MESSAGE_ID, limit: 50 },
    answer: {
      events: [
        {
          event_id: EVENT_ID,
          message_id: MESSAGE_ID,
          status: 'delivered',
          timestamp: '2026-01-31T12:00:00.412Z',
          recipient: 'ada@recipient.example',
          sandbox: false,
        },
      ],
      has_more: false,
    },
  },
  'SuppressionService.Import': {
    request: { emails: ['Ada@recipient.example', 'bob@recipient.example', 'not an address'] },
    answer: {
      imported: 1,
      already_suppressed: 1,
      invalid: 1,
      total: 3,
      errors: [{ index: 2, email: 'not an address', error: 'invalid_address' }],
    },
  },
  'SuppressionService.List': {
    parameters: { email: 'ada@recipient.example', limit: 50 },
    answer: { entries: [SUPPRESSED], has_more: false },
  },
  'SuppressionService.Add': {
    request: { email: 'Ada@recipient.example', tenant_id: 'tenant_1' },
    answer: SUPPRESSED,
  },
  'SuppressionService.Remove': {
    parameters: { email: 'ada@recipient.example', tenant_id: 'tenant_1' },
    answer: {},
  },
}

/** Headers of requests beside those every operation takes. */
export const HEADERS: Record<string, object[]> = {
  'EmailService.Send': [
    {
      name: 'X-Service-Sandbox',
      in: 'header',
      description: '`true` for a dry run: everything is checked and nothing is sent. In any case of letters.',
      schema: { type: 'string', enum: ['true', 'false'] },
      example: 'true',
    },
  ],
}
