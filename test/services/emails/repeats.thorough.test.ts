import { expect, test } from 'vitest'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import { startApi } from '../api.ts'

// A repeat with a taken key gets the stored response, whatever its body is.

const api = await startApi()

const MAIL = { to: 'delivered@simulator.test', from: 'hello@example.test', subject: 'Hello', text: 'Hi' }
const METHODS = {
  send: MAIL,
  validate: MAIL,
  batch: { emails: [MAIL, { ...MAIL, to: 'mailbox_full@simulator.test' }] },
}

/** Any JSON. */
const BODIES: [string, unknown][] = [
  ['an unknown field', { ...MAIL, nosuchfield: 1 }],
  ['an unknown field beside the emails', { ...METHODS.batch, nosuchfield: 1 }],
  ['wrong types', { to: 5, from: {}, subject: [], emails: 'none' }],
  ['a list', [1, 'two', null]],
  ['an empty list', []],
  ['an empty object', {}],
  ['a text', 'hello'],
  ['a number', 5],
  ['null', null],
  ['a NUL character', { ...MAIL, subject: 'a\0b', emails: [MAIL] }],
  ['101 emails', { emails: Array.from({ length: 101 }, () => MAIL) }],
  ['a text beyond every limit', { ...MAIL, subject: 'x'.repeat(20_000) }],
]

const post = (method: string, key: string, body: unknown) =>
  api.call('POST', `/api/v1/emails/${method}`, { body, headers: { 'idempotency-key': key } })

test.each(Object.entries(METHODS))(
  '%s: a repeat gets the stored response, and hears that its body differs',
  async (method, body) => {
    const first = await post(method, `key-${method}`, body)
    expect(first.status).toBe(200)
    for (const [name, other] of BODIES) {
      const repeat = await post(method, `key-${method}`, other)
      expect([name, repeat.status, repeat.text]).toEqual([name, 200, first.text])
      expect(repeat.headers.get('idempotent-replayed')).toBe('true')
      expect(repeat.headers.get('idempotency-mismatch')).toBe('body')
    }
    const same = await post(method, `key-${method}`, body)
    expect([same.text, same.headers.get('idempotency-mismatch')]).toEqual([first.text, null])
  },
)

test.each(Object.entries(METHODS))(
  '%s: a faulty first request is refused and leaves no trace on its key',
  async (method, body) => {
    for (const [name, faulty] of BODIES) {
      const key = `faulty-${method}-${name.replaceAll(' ', '-')}`
      // A batch may begin with emails that are faulty one by one.
      const isBatch = method === 'batch' && (await post('batch', `${key}-alone`, faulty)).status === 200
      if (isBatch) continue
      expect([name, (await post(method, key, faulty)).status]).toEqual([name, 400])
      const good = await post(method, key, body)
      expect([name, good.status, good.headers.get('idempotency-mismatch')]).toEqual([name, 200, null])
    }
  },
)

test('faulty and good requests with one key at the same moment: the good ones succeed', async () => {
  for (const [method, body] of Object.entries(METHODS)) {
    const faulty = { ...(body as object), nosuchfield: 1 }
    const calls = [faulty, body, faulty, body].map((one) => post(method, `both-${method}`, one))
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    expect([statuses[1], statuses[3]]).toEqual([200, 200])
  }
})

test('text that is not JSON, and a request without a key, are refused as before', async () => {
  const headers = {
    authorization: `Bearer ${api.keys.live}`,
    'idempotency-key': 'key-send',
    'content-type': 'application/json',
  }
  const broken = await fetch(`${api.url}/api/v1/emails/send`, { method: 'POST', headers, body: '{"to":' })
  expect(broken.status).toBe(400)
  expect((await api.call('POST', '/api/v1/emails/send', { body: { ...MAIL, nosuchfield: 1 } })).status).toBe(400)
})

test('gRPC: a message that decodes gets the stored response', async () => {
  const client = api.grpc(EmailService)
  const options = { headers: { 'idempotency-key': 'grpc' } }
  const first = await client.send({ ...MAIL, to: [MAIL.to] }, options)
  for (const other of [{}, { ...MAIL, to: [MAIL.to], subject: 'a\0b' }])
    expect((await client.send(other, options)).messageId).toBe(first.messageId)
})
