import { once } from 'node:events'
import http2 from 'node:http2'
import https from 'node:https'
import { expect, test } from 'vitest'
import { AUTHORITY, CERTIFICATE } from '../harness/certificates.ts'
import { untilEnd } from '../harness/until-end.ts'
import { KEY, startGateway } from './gateway.ts'
import { firstResponse, talk } from './requests.ts'

const plain = untilEnd(await startGateway())
const own = untilEnd(await startGateway({ listen: { tls: CERTIFICATE } }))

const SEND_RPC = '/verdict.v1.EmailService/Send'
const withKey = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
const REQUESTS: [name: string, path: string, init: RequestInit, status: number][] = [
  ['a response of REST', '/api/v1/limits', { headers: withKey }, 200],
  ['an error of REST', '/api/v1/emails/send', { method: 'POST', headers: withKey, body: '[' }, 400],
  ['a wrong key', '/api/v1/limits', { headers: { authorization: 'Bearer x' } }, 401],
  ['a path that does not exist', '/nope', {}, 404],
  ['a method that does not exist', '/api/v1/limits', { method: 'PUT', headers: withKey }, 405],
  ['a response of Connect', SEND_RPC, { method: 'POST', headers: withKey, body: '{}' }, 200],
  ['an error of Connect', SEND_RPC, { method: 'POST', headers: withKey, body: '[' }, 400],
  ['a refusal of Connect', SEND_RPC, { method: 'POST', body: '{}' }, 401],
  ['/healthz', '/healthz', {}, 200],
  ['/readyz', '/readyz', {}, 200],
  ['the OpenAPI document', '/api/v1/openapi.json', {}, 200],
  ['the key set', '/.well-known/jwks.json', {}, 200],
  ['the way to the reference', '/docs', { redirect: 'manual' }, 302],
]

test.each(REQUESTS)(
  'no browser guesses the type of %s, and without TLS none is told to use it',
  async (_, path, init, status) => {
    const response = await fetch(plain.url + path, init)
    const { headers } = response
    await response.arrayBuffer()
    const found = [response.status, headers.get('x-content-type-options'), headers.get('strict-transport-security')]
    expect(found).toEqual([status, 'nosniff', null])
  },
)

test.each([
  ['bytes that are not HTTP', 'hello\r\n\r\n'],
  ['a request without Host', 'GET /healthz HTTP/1.1\r\n\r\n'],
  ['a header that occurs twice', `GET /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n`],
])('no browser guesses the type of the error for %s', async (_, bytes) => {
  const { status, head } = firstResponse(await talk(plain.port, bytes))
  expect([status, /^x-content-type-options: (.*)$/im.exec(head)?.[1]]).toEqual([400, 'nosniff'])
})

const trust = { ca: AUTHORITY, checkServerIdentity: () => undefined }
const YEAR = 'max-age=31536000'

test.each(['/healthz', '/api/v1/limits', '/nope', SEND_RPC])(
  'with TLS of its own the service tells browsers to use it for a year, on both versions of HTTP: %s',
  async (path) => {
    const [response] = await once(https.get(own.url + path, { ...trust, headers: withKey, agent: false }), 'response')
    response.resume()
    const session = http2.connect(own.url, trust)
    const [head] = await once(session.request({ ':path': path, ...withKey }).resume(), 'response')
    session.close()
    const headers = [response.headers, head].map((all) => [
      all['strict-transport-security'],
      all['x-content-type-options'],
    ])
    expect(headers).toEqual([
      [YEAR, 'nosniff'],
      [YEAR, 'nosniff'],
    ])
  },
)

test('with TLS of its own a response over gRPC is what it was', async () => {
  const session = http2.connect(own.url, trust)
  const stream = session.request({
    ':method': 'POST',
    ':path': SEND_RPC,
    ...withKey,
    'content-type': 'application/grpc',
  })
  stream.end(Buffer.alloc(5)).resume()
  const [trailers] = await once(stream, 'trailers')
  expect(trailers['grpc-status']).toBe('0')
  session.close()
})
