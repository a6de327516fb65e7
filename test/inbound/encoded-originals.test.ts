import { randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeReturnPath, type ReturnPath } from '../../server/domains/return-path.ts'
import { createReceiver } from '../../server/inbound/receive.ts'
import { multipart } from './report-forms.ts'

// The address for complaints finds our message in a complaint, however the provider has packed it.

const key = randomBytes(32)
const ENCODINGS: Record<string, (text: string) => string> = {
  '7bit': (text) => text,
  '8bit': (text) => text,
  base64: (text) => Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\n'),
}
const TYPES = ['message/rfc822', 'text/rfc822-headers', 'message/global']

function complaintAbout(original: string, encodings: readonly string[], type: string): string {
  const [encoding, ...inner] = encodings
  const report = {
    type: 'message/feedback-report',
    content: 'Feedback-Type: abuse\nVersion: 1\nOriginal-Rcpt-To: ann@example.net\n',
  }
  const content = inner.length === 0 ? original : complaintAbout(original, inner, type)
  return multipart('multipart/report; report-type=feedback-report', [
    { type: 'text/plain', content: 'An abuse report.' },
    report,
    {
      type: inner.length === 0 ? type : 'message/rfc822',
      content: ENCODINGS[encoding!]!(content.replaceAll('\r\n', '\n')),
      encoding: encoding!,
    },
  ])
}

test('a complaint is about the message whose return path it holds, in any encoding and to a depth of two', async () => {
  const found: ReturnPath[] = []
  const receive = createReceiver({
    returnPathKeys: [key],
    keep: async (returnPath) => {
      found.push(returnPath)
      return 'kept'
    },
    report() {},
  })
  const encodings = fc.array(fc.constantFrom('7bit', '8bit', 'base64'), { minLength: 1, maxLength: 2 })
  const property = fc.asyncProperty(encodings, fc.constantFrom(...TYPES), async (encodings, type) => {
    found.length = 0
    const messageId = randomUUID()
    const local = makeReturnPath(key, messageId, 0)
    const original = `Return-Path: <${local}@rp.example.test>\nFrom: hello@example.test\nTo: ann@example.net\nSubject: Hello\n\nHi\n`
    await receive({ content: Buffer.from(complaintAbout(original, encodings, type)), remoteAddress: '' })
    expect(found).toEqual([{ messageId, position: 0 }])
  })
  await fc.assert(property, { numRuns: 30 })
})

test('a return path that quoted-printable breaks is found', async () => {
  const found: ReturnPath[] = []
  const keep = async (returnPath: ReturnPath) => {
    found.push(returnPath)
    return 'kept' as const
  }
  const receive = createReceiver({ returnPathKeys: [key], keep, report() {} })
  const messageId = randomUUID()
  const local = makeReturnPath(key, messageId, 0)
  const broken = `Return-Path: <${local.slice(0, 20)}=\n${local.slice(20)}@rp.example.test>\nSubject: Hello\n\nHi\n`
  const parts = [
    { type: 'message/feedback-report', content: 'Feedback-Type: abuse\nVersion: 1\n' },
    { type: 'text/rfc822-headers', content: broken, encoding: 'quoted-printable' },
  ]
  const content = Buffer.from(multipart('multipart/report; report-type=feedback-report', parts))
  await receive({ content, remoteAddress: '' })
  expect(found).toEqual([{ messageId, position: 0 }])
})
