import { create, toJson } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SmtpEvidenceSchema, SmtpPhase } from '../../gen/verdict/v1/outcomes_pb.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { claimsOf, type SentMessage, type SentRecipient } from '../../server/receipts/claims.ts'
import { anyCharacter } from '../harness/text.ts'

const CREATED_AT = Date.parse('2026-01-31T12:00:00.123Z')
const message: SentMessage = {
  id: newId(CREATED_AT),
  domain: 'shop.example',
  from: 'Shop <hello@Shop.Example>',
  sandbox: false,
  digest: Buffer.alloc(32, 0xab),
  completedAtMs: Date.parse('2026-01-31T12:00:01.000Z'),
}
const recipient: SentRecipient = {
  email: 'ann@example.net',
  kind: 'to',
  status: 'delivered',
  reason: null,
  inDoubt: false,
  smtp: null,
}
const SIGNED = { issuer: 'https://mail.example.com', nowMs: Date.parse('2026-02-01T08:00:00.999Z') }

const evidence = (change: object) =>
  toJson(SmtpEvidenceSchema, create(SmtpEvidenceSchema, { phase: SmtpPhase.DOT, durationMs: 12, ...change }))

test('the claims of a delivery: who, when, the digest, and the words of the server', () => {
  const smtp = evidence({
    mx: 'mx.example.net',
    ip: '192.0.2.1',
    code: 250,
    enhanced: '2.0.0',
    reply: 'queued as 4bXyZ',
    tls: { version: 'TLSv1.3', verified: false },
  })
  expect(claimsOf(message, [{ ...recipient, smtp }], SIGNED)).toEqual({
    iss: 'https://mail.example.com',
    sub: publicId('msg', message.id),
    iat: 1_769_932_800,
    from_domain: 'shop.example',
    created_at: '2026-01-31T12:00:00.123Z',
    digest: `sha-256:${'ab'.repeat(32)}`,
    sandbox: false,
    recipients: [
      {
        email: 'ann@example.net',
        kind: 'to',
        status: 'delivered',
        mx: 'mx.example.net',
        ip: '192.0.2.1',
        code: 250,
        enhanced: '2.0.0',
        reply: 'queued as 4bXyZ',
        tls: { version: 'TLSv1.3', verified: false },
        at: '2026-01-31T12:00:01.000Z',
      },
    ],
  })
})

const jsonOf = (change: Partial<SentMessage>, ...recipients: Partial<SentRecipient>[]) =>
  JSON.parse(
    JSON.stringify(
      claimsOf(
        { ...message, ...change },
        recipients.map((one) => ({ ...recipient, ...one })),
        SIGNED,
      ),
    ),
  )

test('doubt is stated, and a message in doubt has a digest only when one was stored', () => {
  const inDoubt = { status: 'bounced', reason: 'connection_timeout', inDoubt: true }
  const { digest, recipients } = jsonOf({ digest: null }, inDoubt)
  expect(digest).toBeUndefined()
  expect(recipients).toEqual([
    {
      email: 'ann@example.net',
      kind: 'to',
      status: 'bounced',
      reason: 'connection_timeout',
      in_doubt: true,
      at: '2026-01-31T12:00:01.000Z',
    },
  ])
})

test('a dry run says so; a row of an earlier version takes the domain from the sender', () => {
  const { sandbox, from_domain } = jsonOf({ sandbox: true, domain: '' }, {})
  expect([sandbox, from_domain]).toEqual([true, 'shop.example'])
})

test('equal rows make equal bytes, whenever they are read, except for iat', () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 30 })
  const smtp = fc.record(
    { mx: text, ip: text, code: fc.integer({ min: 200, max: 599 }), enhanced: text, reply: text },
    { requiredKeys: [] },
  )
  const row = fc.record({
    email: text,
    kind: fc.constantFrom('to', 'cc', 'bcc'),
    status: fc.constantFrom('delivered', 'bounced', 'rejected'),
    reason: fc.constantFrom(null, 'mailbox_full'),
    inDoubt: fc.boolean(),
    smtp: fc.option(smtp.map(evidence), { nil: null }),
  })
  const head = fc.record({
    sandbox: fc.boolean(),
    digest: fc.option(
      fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
      { nil: null },
    ),
    completedAtMs: fc.nat({ max: 4e12 }),
  })
  fc.assert(
    fc.property(head, fc.array(row, { maxLength: 5 }), fc.nat(), fc.nat(), (change, rows, first, second) => {
      const bytesAt = (nowMs: number) =>
        JSON.stringify(claimsOf({ ...message, ...change }, structuredClone(rows), { ...SIGNED, nowMs }))
      const withoutTime = (bytes: string) => bytes.replace(/"iat":\d+/, '')
      expect(bytesAt(first)).toBe(bytesAt(first))
      expect(withoutTime(bytesAt(first))).toBe(withoutTime(bytesAt(second)))
    }),
    { numRuns: 40 },
  )
})
