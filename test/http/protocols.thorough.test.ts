import { execFile } from 'node:child_process'
import { once } from 'node:events'
import http2 from 'node:http2'
import https from 'node:https'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { BadRequestSchema, ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts'
import { Health, HealthCheckResponse_ServingStatus as Serving } from '../../gen/grpc/health/v1/health_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { fail, reasonOf } from '../../server/errors.ts'
import { MAX_OBJECTS } from '../../server/http/body/request-bounds.ts'
import { listen } from '../../server/http/listener/listen.ts'
import { AUTHORITY, CERTIFICATE } from '../harness/certificates.ts'
import { untilEnd } from '../harness/until-end.ts'
import { KEY, startGateway } from './gateway.ts'
import { MAIL } from './requests.ts'
import { MESSAGE_ID } from './resources.ts'

const gateway = untilEnd(await startGateway())

const withKey = { headers: { authorization: `Bearer ${KEY}` } }
const mail = { ...MAIL, to: [MAIL.to] }

// Node's client drops a response that arrives while more than 10 MB of the request wait to be written.
const nodeOptions = { maxSessionMemory: 64 }

const TRANSPORTS: Record<string, (baseUrl: string) => Transport> = {
  'Connect, HTTP/1.1': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1' }),
  'Connect with JSON': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: false }),
  'Connect, HTTP/2': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2', nodeOptions }),
  'gRPC-Web, HTTP/1.1': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }),
  'gRPC-Web, HTTP/2': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '2', nodeOptions }),
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl, nodeOptions }),
}
const each = test.for(Object.entries(TRANSPORTS))
const errorOf = (call: Promise<unknown>) => call.then(() => expect.fail('no error'), ConnectError.from)

each('%s: the same send on the same port', async ([, transport]) => {
  const response = await createClient(EmailService, transport(gateway.url)).send(mail, withKey)
  expect(response).toMatchObject({ status: 1, messageId: MESSAGE_ID, smtp: { mx: 'mx.example.test', code: 250 } })
})

each('%s: an error carries its error code and its fields', async ([, transport]) => {
  await using own = await startGateway({
    async send() {
      throw fail('invalid_address', 'It does not parse.', { fields: [{ field: 'to[0]', message: 'is no address' }] })
    },
  })
  const error = await errorOf(createClient(EmailService, transport(own.url)).send(mail, withKey))
  expect([error.code, error.rawMessage, reasonOf(error)]).toEqual([
    Code.InvalidArgument,
    'It does not parse.',
    'invalid_address',
  ])
  expect(error.findDetails(BadRequestSchema)[0]!.fieldViolations).toMatchObject([
    { field: 'to[0]', description: 'is no address' },
  ])
})

each('%s: an unexpected error reveals nothing', async ([, transport]) => {
  await using own = await startGateway({
    async send() {
      throw new Error('a secret')
    },
  })
  const error = await errorOf(createClient(EmailService, transport(own.url)).send(mail, withKey))
  expect([error.code, reasonOf(error)]).toEqual([Code.Unavailable, 'transient_failure'])
  expect(error.message).not.toContain('secret')
})

each('%s: a wrong key is refused before the body is read', async ([, transport]) => {
  const error = await errorOf(createClient(EmailService, transport(gateway.url)).send(mail))
  expect([error.code, reasonOf(error)]).toEqual([Code.Unauthenticated, 'invalid_api_key'])
})

each(
  '%s: a refusal carries its error code, when to retry, and how many requests the caller has left',
  async ([, transport]) => {
    await using own = await startGateway({
      async gate({ tellRate }) {
        tellRate({ limit: 60, remaining: 0, resetAt: 1_769_860_860 })
        throw fail('rate_limit_exceeded', 'Ä: 60 are used up.', { retryAfterSeconds: 7 })
      },
    })
    const error = await errorOf(createClient(EmailService, transport(own.url)).send(mail, withKey))
    expect([error.code, error.rawMessage, reasonOf(error)]).toEqual([
      Code.ResourceExhausted,
      'Ä: 60 are used up.',
      'rate_limit_exceeded',
    ])
    const told = ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
    expect(told.map((name) => error.metadata.get(name))).toEqual(['7', '60', '0', '1769860860'])
    expect(own.sent).toEqual([])
  },
)

each('%s: a stream that is refused says why', async ([, transport]) => {
  await using own = await startGateway()
  const watch = () => createClient(Health, transport(own.url)).watch({})[Symbol.asyncIterator]().next()
  for (let i = 0; i < 600; i++) own.openCalls.count('127.0.0.1')
  const error = await errorOf(watch())
  expect([error.code, reasonOf(error)]).toEqual([Code.ResourceExhausted, 'rate_limit_exceeded'])
})

test('a call in an unknown protocol is refused with the body of REST', async () => {
  const response = await fetch(`${gateway.url}/verdict.v1.EmailService/Send`, {
    method: 'POST',
    headers: { 'content-type': 'text/xml' },
    body: '<to/>',
  })
  expect([response.status, await response.json()]).toMatchObject([401, { error: 'invalid_api_key' }])
})

each('%s: a body of 15 MiB is accepted, and not a byte more', async ([, transport]) => {
  const client = createClient(EmailService, transport(gateway.url))
  const html = (bytes: number) => ({ ...mail, html: 'x'.repeat(bytes) })
  expect((await client.send(html(15 * 2 ** 20 - 200), withKey)).messageId).toBe(MESSAGE_ID)
  const error = await errorOf(client.send(html(15 * 2 ** 20), withKey))
  expect([error.code, reasonOf(error)]).toEqual([Code.ResourceExhausted, 'payload_too_large'])
})

each('%s: more objects than a request may hold are refused before they are created', async ([, transport]) => {
  const client = createClient(EmailService, transport(gateway.url))
  const empty = (count: number) => ({ ...mail, attachments: Array.from({ length: count }, () => ({})) })
  expect((await client.send(empty(MAX_OBJECTS), withKey)).messageId).toBe(MESSAGE_ID)
  const error = await errorOf(client.send(empty(MAX_OBJECTS + 1), withKey))
  expect([reasonOf(error), error.rawMessage]).toEqual(['invalid_payload', expect.stringContaining('objects')])
})

each('%s: of a thousand faults 20 are listed, and the others are counted', async ([, transport]) => {
  const attachments = Array.from({ length: 1_000 }, () => ({ filename: 'a\0' }))
  const error = await errorOf(
    createClient(EmailService, transport(gateway.url)).send({ ...mail, attachments }, withKey),
  )
  expect(error.findDetails(BadRequestSchema)[0]!.fieldViolations).toHaveLength(20)
  expect(error.rawMessage).toMatch(/; and 9\d\d more\.$/)
})

each('%s: text that nothing can store is refused by its field', async ([, transport]) => {
  const error = await errorOf(
    createClient(EmailService, transport(gateway.url)).send({ ...mail, subject: 'a\0' }, withKey),
  )
  expect(reasonOf(error)).toBe('invalid_payload')
  expect(error.findDetails(BadRequestSchema)[0]!.fieldViolations[0]!.field).toBe('subject')
})

each(
  '%s: a response says how many requests the caller has left, health does not, and no cache keeps either',
  async ([, transport]) => {
    const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'cache-control']
    const seen: (string | null)[] = []
    const onHeader = (headers: Headers) => void seen.push(...names.map((name) => headers.get(name)))
    await createClient(EmailService, transport(gateway.url)).send(mail, { ...withKey, onHeader })
    await createClient(Health, transport(gateway.url)).check({}, { onHeader })
    expect(seen).toEqual(['600', '588', '1769860860', 'no-store', null, null, null, 'no-store'])
  },
)

each('%s: X-Request-Id is on every response', async ([, transport]) => {
  let id: string | null = null
  const onHeader = (headers: Headers) => {
    id = headers.get('x-request-id')
  }
  const headers = { ...withKey.headers, 'x-request-id': 'mine' }
  await createClient(EmailService, transport(gateway.url)).send(mail, { headers, onHeader })
  expect(id).toBe('mine')
  const error = await errorOf(
    createClient(EmailService, transport(gateway.url)).send(mail, { headers: { 'x-request-id': 'mine' } }),
  )
  expect(error.metadata.get('x-request-id')).toBe('mine')
})

each('%s: the caller’s deadline reaches the service and the caller', async ([, transport]) => {
  const left: Promise<unknown>[] = []
  await using own = await startGateway({
    async send(_, { signal }) {
      left.push(once(signal, 'abort').then(() => signal.reason))
      await left.at(-1)
      throw signal.reason
    },
  })
  const client = createClient(EmailService, transport(own.url))
  // On a busy machine a short deadline passes before the call reaches the service.
  for (let timeoutMs = 100; left.length === 0; timeoutMs *= 2) {
    const error = await errorOf(client.send(mail, { ...withKey, timeoutMs }))
    expect(error.code).toBe(Code.DeadlineExceeded)
  }
  expect(await left[0]).toBeInstanceOf(ConnectError)
})

test('a deadline that passes is reported as such, whatever the work that it ended reports', async () => {
  await using own = await startGateway({
    async send(_, { signal }) {
      await once(signal, 'abort')
      throw fail('transient_failure', 'The caller left.')
    },
  })
  const connect = await fetch(`${own.url}/verdict.v1.EmailService/Send`, {
    method: 'POST',
    headers: { ...withKey.headers, 'content-type': 'application/json', 'connect-timeout-ms': '50' },
    body: '{}',
  })
  expect([connect.status, await connect.json()]).toEqual([504, expect.objectContaining({ code: 'deadline_exceeded' })])
  const session = http2.connect(own.url)
  const stream = session.request({
    ':method': 'POST',
    ':path': '/verdict.v1.EmailService/Send',
    'content-type': 'application/grpc',
    'grpc-timeout': '50m',
    te: 'trailers',
    ...withKey.headers,
  })
  stream.end(Buffer.alloc(5)).resume()
  const [trailers] = await once(stream, 'trailers')
  session.close()
  expect(trailers['grpc-status']).toBe(String(Code.DeadlineExceeded))
  expect(own.lines.filter(({ msg }) => msg === 'request').map(({ code }) => code)).toEqual([
    'deadline_exceeded',
    'deadline_exceeded',
  ])
})

test('bytes that are not a message are invalid_payload on Connect and gRPC', async () => {
  const url = `${gateway.url}/verdict.v1.EmailService/Send`
  const post = (type: string, body: string) =>
    fetch(url, { method: 'POST', headers: { ...withKey.headers, 'content-type': type }, body })
  for (const [type, body] of [
    ['application/json', '{"to":5}'],
    ['application/json', '{"replyto":"a"}'],
    ['application/json', '{'],
    ['application/json', '{"subject":"a","subject":"b"}'],
    ['application/proto', '\x0a\x7f'],
  ] as const) {
    const response = await post(type, body)
    const { code, details } = (await response.json()) as { code: string; details: { type: string; debug: object }[] }
    expect([response.status, code, details[0]!.debug]).toEqual([
      400,
      'invalid_argument',
      expect.objectContaining({ reason: 'invalid_payload', domain: 'verdict' }),
    ])
  }
  const session = http2.connect(gateway.url)
  const stream = session.request({
    ':method': 'POST',
    ':path': '/verdict.v1.EmailService/Send',
    'content-type': 'application/grpc',
    ...withKey.headers,
  })
  stream.end(Buffer.from('0000000002ffff', 'hex'))
  stream.resume()
  const [trailers] = await once(stream, 'trailers')
  session.close()
  expect(trailers['grpc-status']).toBe(String(Code.InvalidArgument))
  expect(Buffer.from(trailers['grpc-status-details-bin'], 'base64').toString()).toContain('invalid_payload')
})

test.each([
  ['connect-timeout-ms', 'application/json', '9999999999'],
  ['grpc-timeout', 'application/grpc', '99999999H'],
])('%s: a deadline longer than any timer has no effect', async (name, type, deadline) => {
  const session = http2.connect(gateway.url)
  const stream = session.request({
    ':method': 'POST',
    ':path': '/verdict.v1.EmailService/Send',
    'content-type': type,
    [name]: deadline,
    ...withKey.headers,
  })
  stream.end(type === 'application/grpc' ? Buffer.alloc(5) : '{}')
  const trailers = once(stream, 'trailers').then(([headers]) => headers['grpc-status'])
  const [headers] = await once(stream, 'response')
  stream.resume()
  expect(type === 'application/grpc' ? await trailers : headers[':status']).toEqual(
    type === 'application/grpc' ? '0' : 200,
  )
  session.close()
})

function grpcJs(port: number) {
  const loaded = loadSync('verdict/v1/emails.proto', { includeDirs: ['proto'], enums: String })
  // biome-ignore lint/suspicious/noExplicitAny: created at run time
  const { verdict } = grpc.loadPackageDefinition(loaded) as any
  const client = new verdict.v1.EmailService(`127.0.0.1:${port}`, grpc.credentials.createInsecure())
  const call = (metadata: grpc.Metadata) =>
    new Promise<[grpc.ServiceError | null, unknown]>((resolve) =>
      client.send(mail, metadata, (error: grpc.ServiceError | null, response: unknown) => resolve([error, response])),
    )
  return { call, [Symbol.dispose]: () => client.close() }
}

test('grpc-js sends on the same port and reads the error code of an error', async () => {
  using client = grpcJs(gateway.port)
  const { call } = client
  const metadata = new grpc.Metadata()
  const [refused] = await call(metadata)
  expect(refused).toMatchObject({ code: grpc.status.UNAUTHENTICATED })
  expect(String(refused!.metadata.get('grpc-status-details-bin')[0])).toContain('invalid_api_key')
  metadata.set('authorization', `Bearer ${KEY}`)
  const [error, response] = await call(metadata)
  expect([error, response]).toEqual([
    null,
    expect.objectContaining({ status: 'DELIVERY_STATUS_DELIVERED', messageId: MESSAGE_ID }),
  ])
})

test('grpc-js reads the message of an error as it was written', async () => {
  const words = 'from: "a@b.c" is 100% no address; see <https://x.test/?a=1&b=2#c>, 日本 \u{1f4a9}\n+%41'
  await using own = await startGateway({
    async send() {
      throw fail('invalid_address', words)
    },
  })
  using client = grpcJs(own.port)
  const metadata = new grpc.Metadata()
  metadata.set('authorization', `Bearer ${KEY}`)
  const [error] = await client.call(metadata)
  expect(error!.details).toBe(words)
})

test('grpc-message escapes the characters that the gRPC protocol names, and no others', async () => {
  await using own = await startGateway({
    async send() {
      throw fail('invalid_address', 'a@b.c: 5% ~"é"\n')
    },
  })
  const session = http2.connect(own.url)
  const stream = session.request({
    ':method': 'POST',
    ':path': '/verdict.v1.EmailService/Send',
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${KEY}`,
  })
  stream.end(Buffer.alloc(5)).resume()
  const [trailers] = await once(stream, 'trailers')
  session.close()
  expect(trailers['grpc-message']).toBe('a@b.c: 5%25 ~"%C3%A9"%0A')
})

test('REST works over HTTP/2 without TLS', async () => {
  const session = http2.connect(gateway.url)
  const { status, json } = await postOver(session)
  session.close()
  expect([status, json.message_id]).toEqual([200, MESSAGE_ID])
})

async function postOver(session: http2.ClientHttp2Session) {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/api/v1/emails/send',
    'content-type': 'application/json',
    ...withKey.headers,
  })
  stream.end(JSON.stringify(MAIL))
  const [headers] = await once(stream, 'response')
  let text = ''
  for await (const chunk of stream) text += chunk
  return { status: headers[':status'], json: JSON.parse(text) }
}

test('with TLS, ALPN chooses between HTTP/1.1 and HTTP/2 on the one port', async () => {
  await using own = await startGateway({ listen: { tls: CERTIFICATE } })
  expect(own.url).toMatch(/^https:/)
  const trust = { ca: AUTHORITY, servername: 'mx1.example.test' }

  const session = http2.connect(own.url, trust)
  expect((await postOver(session)).status).toBe(200)
  session.close()

  const request = https.request(`${own.url}/api/v1/events`, { ...trust, ...withKey })
  request.end()
  const [response] = await once(request, 'response')
  expect([response.statusCode, response.httpVersion]).toEqual([200, '1.1'])
  response.resume()

  const transport = createGrpcTransport({ baseUrl: own.url, nodeOptions: trust })
  expect((await createClient(EmailService, transport).send(mail, withKey)).messageId).toBe(MESSAGE_ID)

  const socket = tls.connect({ ...trust, host: '127.0.0.1', port: own.port, ALPNProtocols: ['h2', 'http/1.1'] })
  await once(socket, 'secureConnect')
  expect(socket.alpnProtocol).toBe('h2')
  socket.destroy()
})

test('a port that is taken is an error, and leaves nothing behind', async () => {
  await using other = await startGateway()
  const port = await freePort()
  await expect(listen(other.app, { host: '127.0.0.1', port: other.port })).rejects.toThrow('EADDRINUSE')
  const successor = await listen(other.app, { host: '127.0.0.1', port })
  expect(successor.port).toBe(port)
  await successor.close({ timeoutMs: 0 })
})

test('grpc.health.v1 is open: check, list and watch', async () => {
  let state = 'ok'
  await using own = await startGateway({ checks: async () => ({ database: state }) })
  const client = createClient(Health, createGrpcTransport({ baseUrl: own.url }))
  expect((await client.check({})).status).toBe(Serving.SERVING)
  expect((await client.check({ service: 'verdict.v1.EmailService' })).status).toBe(Serving.SERVING)
  const unknown = await errorOf(client.check({ service: 'nope' }))
  expect([unknown.code, unknown.findDetails(ErrorInfoSchema)[0]!.reason]).toEqual([Code.NotFound, 'not_found'])
  expect(Object.keys((await client.list({})).statuses)).toEqual([
    '',
    'verdict.v1.EmailService',
    'verdict.v1.ReceiptService',
    'verdict.v1.EventService',
    'verdict.v1.WebhookService',
    'verdict.v1.DomainService',
    'verdict.v1.StatsService',
    'verdict.v1.SuppressionService',
    'verdict.v1.LimitsService',
    'verdict.v1.AccountService',
  ])

  const seen: Serving[] = []
  const watching = (async () => {
    for await (const { status } of client.watch({})) {
      seen.push(status)
      state = 'failing'
    }
  })()
  await expect.poll(() => seen).toEqual([Serving.SERVING, Serving.NOT_SERVING])
  expect((await client.check({})).status).toBe(Serving.NOT_SERVING)
  await own.listener.close({ timeoutMs: 3_000 })
  await watching
})

test('/healthz says what the server is, and /readyz whether it accepts calls', async () => {
  let state = 'ok'
  await using own = await startGateway({ checks: async () => ({ database: state, temporal: 'degraded' }) })
  const get = async (path: string) => {
    const response = await fetch(own.url + path)
    return [response.status, await response.json()]
  }
  expect(await get('/healthz')).toEqual([200, { status: 'ok', version: '0.0.0', region: 'eu' }])
  const checks = { database: 'ok', temporal: 'degraded', draining: 'no' }
  expect(await get('/readyz')).toEqual([200, { status: 'ready', checks }])
  state = 'failing'
  const failing = { status: 'not_ready', checks: { ...checks, database: 'failing' } }
  await expect.poll(() => get('/readyz')).toEqual([503, failing])
})

test('buf curl lists and calls through reflection, on gRPC and gRPC-Web', async () => {
  const run = promisify(execFile)
  const curl = async (...args: string[]) =>
    (await run('node_modules/.bin/buf', ['curl', '--http2-prior-knowledge', ...args])).stdout
  const methods = await curl('--protocol', 'grpc', '--list-methods', gateway.url)
  expect(methods.split('\n')).toEqual(
    expect.arrayContaining(['verdict.v1.EmailService/Send', 'verdict.v1.EventService/ListEvents']),
  )
  const request = ['--header', `authorization: Bearer ${KEY}`, '--data', JSON.stringify(mail)]
  for (const protocol of ['grpc', 'grpcweb', 'connect']) {
    const response = await curl('--protocol', protocol, ...request, `${gateway.url}/verdict.v1.EmailService/Send`)
    expect(JSON.parse(response)).toMatchObject({ status: 'DELIVERY_STATUS_DELIVERED', message_id: MESSAGE_ID })
  }
})
