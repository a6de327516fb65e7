import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { newSecret, signedHeaders } from '../../../server/webhooks/attempt/signature.ts'
import { anyCharacter } from '../../harness/text.ts'

const IDS = { eventId: 'evt_01h455vb4pex5vsknk084sn02q', dispatchId: 'dsp_01h455vb4pex5vsknk084sn02r', attempt: 3 }
const NOW = Math.floor(Date.now() / 1_000)

/** The signature as the guide tells a receiver to compute it, without code of the service. */
function ownSignature(body: Uint8Array, headers: Record<string, string>, secret: string): string {
  const signed = Buffer.concat([Buffer.from(headers['Service-Timestamp']!), Buffer.from('.'), body])
  return createHmac('sha256', Buffer.from(secret, 'utf8')).update(signed).digest('hex')
}

test('a given secret, time and body have this signature', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const body = Buffer.from('{"event":"email.delivery"}')
  expect(signedHeaders({ ...IDS, body, timestamp: 1_790_000_000, secret })).toEqual({
    'Content-Type': 'application/json',
    'User-Agent': `Verdict/${packageJson.version}`,
    'Service-Signature': SIGNATURE,
    'Service-Timestamp': '1790000000',
    'Service-Event-Id': IDS.eventId,
    'Service-Attempt': '3',
    'Service-Dispatch-Id': IDS.dispatchId,
    'webhook-id': IDS.eventId,
    'webhook-timestamp': '1790000000',
    'webhook-signature': STANDARD_SIGNATURE,
  })
})

// openssl dgst computed both, not this code.
const SIGNATURE = '2e8b1bb0f8bc9a842fe7361cbd6a0007aaef932c39e11a8c214ec9338a339af2'
const STANDARD_SIGNATURE = 'v1,x7tGI4xXXb66n2dIf3XyyR52Dpz/nupg60+wCQHiCV4='

test('openssl computes the same signature', () => {
  const secret = newSecret()
  const body = Buffer.from('{"status":"bounced","reason":"Empfänger unbekannt"}')
  const headers = signedHeaders({ ...IDS, body, timestamp: NOW, secret })
  const digest = (key: string, prefix: string) =>
    execFileSync('openssl', ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${key}`, '-r'], {
      input: Buffer.concat([Buffer.from(prefix), body]),
    })
      .toString()
      .slice(0, 64)
  expect(digest(Buffer.from(secret).toString('hex'), `${NOW}.`)).toBe(headers['Service-Signature'])
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64').toString('hex')
  const standard = Buffer.from(digest(key, `${IDS.eventId}.${NOW}.`), 'hex').toString('base64')
  expect(`v1,${standard}`).toBe(headers['webhook-signature'])
})

test('every body and every secret verifies, by the guide and by the library of Standard Webhooks', () => {
  const secrets = fc
    .uint8Array({ minLength: 1, maxLength: 64 })
    .map((key) => `whsec_${Buffer.from(key).toString('base64')}`)
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), secrets, (text, secret) => {
      const body = Buffer.from(text)
      const headers = signedHeaders({ ...IDS, body, timestamp: NOW, secret })
      expect(headers['Service-Signature']).toBe(ownSignature(body, headers, secret))
      new Webhook(secret).verify(body, headers, { jsonParse: false })
    }),
  )
})

test('bytes that are not text are signed unchanged', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const secret = newSecret()
      const headers = signedHeaders({ ...IDS, body: Buffer.from(bytes), timestamp: NOW, secret })
      expect(headers['Service-Signature']).toBe(ownSignature(bytes, headers, secret))
    }),
  )
})

test('while a secret is rotated, both secrets verify', () => {
  const [secret, previousSecret] = [newSecret(), newSecret()]
  const body = Buffer.from('{"n":1}')
  const headers = signedHeaders({ ...IDS, body, timestamp: NOW, secret, previousSecret })
  expect(headers['Service-Signature']).toBe(ownSignature(body, headers, secret))
  expect(headers['Service-Signature-Previous']).toBe(ownSignature(body, headers, previousSecret))
  expect(new Webhook(secret).verify(body, headers)).toEqual({ n: 1 })
  expect(new Webhook(previousSecret).verify(body, headers)).toEqual({ n: 1 })
  expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow(/No matching signature/)
})

test.each([
  ['body', (body: Buffer) => Buffer.concat([body, Buffer.from(' ')]), {}],
  ['time', (body: Buffer) => body, { 'webhook-timestamp': String(NOW + 1) }],
  ['event', (body: Buffer) => body, { 'webhook-id': 'evt_01h455vb4pex5vsknk084sn02z' }],
])('another %s does not verify', (_, changed, forged) => {
  const secret = newSecret()
  const body = Buffer.from('{"n":1}')
  const headers = signedHeaders({ ...IDS, body, timestamp: NOW, secret })
  expect(() => new Webhook(secret).verify(changed(body), { ...headers, ...forged })).toThrow(/No matching signature/)
})

test('an attempt that is replayed after five minutes is refused by the library', () => {
  const secret = newSecret()
  const body = Buffer.from('{}')
  const headers = signedHeaders({ ...IDS, body, timestamp: NOW - 301, secret })
  expect(() => new Webhook(secret).verify(body, headers)).toThrow(/too old/)
})

test('a new secret is whsec_ and 32 octets in base64, and never the same', () => {
  const secrets = Array.from({ length: 100 }, newSecret)
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32)
  }
  expect(new Set(secrets)).toHaveLength(100)
})
