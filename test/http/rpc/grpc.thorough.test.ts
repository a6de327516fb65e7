import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { Code, createClient } from '@connectrpc/connect'
import { findTrailerError } from '@connectrpc/connect/protocol-grpc'
import { createGrpcTransport } from '@connectrpc/connect-node'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { EmailService, SendRequestSchema, SendResponseSchema } from '../../../gen/verdict/v1/emails_pb.ts'
import { reasonOf } from '../../../server/errors.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { letArrive } from '../../harness/waits.ts'
import { KEY, startGateway } from '../gateway.ts'
import { MAIL } from '../requests.ts'
import { delivered, MESSAGE_ID } from '../resources.ts'

// Unary calls of plain gRPC do not pass through the protocol library.

const gateway = untilEnd(
  await startGateway({
    async send(_, { responseHeader, responseTrailer }) {
      responseHeader.append('x-own', 'a')
      responseHeader.append('x-own', 'b')
      responseTrailer.set('x-own-trailer', 'c')
      return delivered()
    },
  }),
)
const session = http2.connect(gateway.url)
afterAll(() => session.destroy())

const PATH = '/verdict.v1.EmailService/Send'
const HEADERS = { 'content-type': 'application/grpc', authorization: `Bearer ${KEY}` }
const MESSAGE = toBinary(SendRequestSchema, create(SendRequestSchema, { ...MAIL, to: [MAIL.to] }))

function envelope(message: Uint8Array, flags = 0, length = message.length): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(flags)
  head.writeUInt32BE(length, 1)
  return Buffer.concat([head, message])
}

interface Reply {
  headers: Record<string, unknown>
  trailers: Record<string, unknown>
  body: Buffer
  status: number
  reason: string | undefined
}

/** Calls Send with the pieces of a body, each in its own frame, over HTTP/2. */
async function call(pieces: Uint8Array[], headers = {}): Promise<Reply> {
  const stream = session.request({ ':method': 'POST', ':path': PATH, te: 'trailers', ...HEADERS, ...headers })
  const seen = { headers: {}, trailers: {} }
  stream.on('response', (response) => Object.assign(seen.headers, response))
  stream.on('trailers', (trailers) => Object.assign(seen.trailers, trailers))
  for (const piece of pieces) stream.write(piece)
  stream.end()
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return reply(seen, Buffer.concat(chunks))
}

/** The same over HTTP/1.1, where the library serves the call. */
async function callLibrary(pieces: Uint8Array[]): Promise<Reply> {
  const request = http.request(gateway.url + PATH, { method: 'POST', headers: HEADERS })
  request.flushHeaders()
  for (const piece of pieces) request.write(piece)
  request.end()
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return reply({ headers: response.headers, trailers: response.trailers }, Buffer.concat(chunks))
}

function reply({ headers, trailers }: Pick<Reply, 'headers' | 'trailers'>, body: Buffer): Reply {
  const error = findTrailerError(new Headers(Object.entries(trailers as Record<string, string>)))
  return { headers, trailers, body, status: Number(trailers['grpc-status']), reason: reasonOf(error) }
}

test.each(['application/grpc', 'application/grpc+proto', 'application/GRPC'])(
  '%s: one message in, one message and trailers out',
  async (type) => {
    const { headers, trailers, body } = await call([envelope(MESSAGE)], { 'content-type': type })
    expect(headers).toMatchObject({
      ':status': 200,
      'content-type': 'application/grpc+proto',
      'cache-control': 'no-store',
      'x-ratelimit-remaining': '588',
      'x-own': 'a, b',
    })
    expect(Object.entries(trailers).sort()).toEqual([
      ['grpc-status', '0'],
      ['x-own-trailer', 'c'],
    ])
    expect([body[0], body.readUInt32BE(1)]).toEqual([0, body.length - 5])
    expect(fromBinary(SendResponseSchema, body.subarray(5))).toMatchObject({ messageId: MESSAGE_ID })
  },
)

/** The five octets before a message of one octet. */
const BARE_LENGTH = Buffer.of(0, 0, 0, 0, 1)

test.each([
  ['no message', [], Code.Unimplemented, undefined],
  ['two messages', [envelope(MESSAGE), envelope(MESSAGE)], Code.InvalidArgument, 'invalid_payload'],
  ['bytes after the message', [envelope(MESSAGE), Buffer.of(0)], Code.InvalidArgument, 'invalid_payload'],
  ['a length that is too long', [envelope(MESSAGE, 0, 1_000)], Code.InvalidArgument, 'invalid_payload'],
  ['a length that is too short', [envelope(MESSAGE, 0, 3)], Code.InvalidArgument, 'invalid_payload'],
  ['a length of 4 GiB', [envelope(MESSAGE, 0, 0xffffffff)], Code.ResourceExhausted, 'payload_too_large'],
  ['a length and nothing behind it', [BARE_LENGTH], Code.InvalidArgument, 'invalid_payload'],
  ['a length after the message', [envelope(MESSAGE), BARE_LENGTH], Code.InvalidArgument, 'invalid_payload'],
  ['half an envelope', [Buffer.alloc(3)], Code.InvalidArgument, 'invalid_payload'],
  ['the flag of compression', [envelope(MESSAGE, 1)], Code.InvalidArgument, 'invalid_payload'],
  ['an unknown flag', [envelope(MESSAGE, 0x80)], Code.InvalidArgument, 'invalid_payload'],
  ['text that is not UTF-8', [envelope(Buffer.from('0a01ff', 'hex'))], Code.InvalidArgument, 'invalid_payload'],
  ['too many objects', [envelope(Buffer.alloc(5_000, 'OgA=', 'base64'))], Code.InvalidArgument, 'invalid_payload'],
] as const)('%s: refused, with the error code', async (_, pieces, status, reason) => {
  const before = gateway.sent.length
  expect(await call([...pieces])).toMatchObject({ status, reason })
  expect(gateway.sent.length).toBe(before)
})

test('a body in single bytes is read', async () => {
  expect((await call(Array.from(envelope(MESSAGE), (byte) => Buffer.of(byte)))).status).toBe(0)
})

test('a message that is too large is refused as such, also when its length arrives in two parts', async () => {
  const large = envelope(MESSAGE, 0, 0xffffffff)
  const stream = session.request({ ':method': 'POST', ':path': PATH, te: 'trailers', ...HEADERS })
  stream.write(large.subarray(0, 2))
  await letArrive(50)
  stream.end(large.subarray(2)).resume()
  const [trailers] = await once(stream, 'trailers')
  expect(trailers['grpc-status']).toBe(String(Code.ResourceExhausted))
})

/** Whether a body ends with the length of a message and nothing behind it, which the library ignores. */
function endsWithLength(body: Buffer): boolean {
  let at = 0
  while (body.length - at > BARE_LENGTH.length) at += BARE_LENGTH.length + body.readUInt32BE(at + 1)
  return body.length - at === BARE_LENGTH.length && body.readUInt32BE(at + 1) > 0
}

test('any bytes get the status that the library gives', async () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 12 }),
    fc.constant(envelope(MESSAGE)),
    fc.uint8Array({ maxLength: 40 }).map((message) => envelope(message)),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 3 }), async (pieces) => {
      fc.pre(!endsWithLength(Buffer.concat(pieces)))
      const [ours, library] = await Promise.all([call(pieces), callLibrary(pieces)])
      expect([ours.status, ours.reason]).toEqual([library.status, library.reason])
    }),
    { numRuns: 150 },
  )
})

test('a compressed or JSON message, and a call without `te`, are served or refused by the library', async () => {
  expect((await call([envelope(MESSAGE, 1)], { 'grpc-encoding': 'br' })).status).toBe(Code.Unimplemented)
  const json = envelope(Buffer.from(JSON.stringify({ ...MAIL, to: [MAIL.to] })))
  expect((await call([json], { 'content-type': 'application/grpc+json' })).status).toBe(0)
  const stream = session.request({ ':method': 'POST', ':path': PATH, ...HEADERS })
  stream.end(envelope(MESSAGE)).resume()
  const [trailers] = await once(stream, 'trailers')
  expect(trailers['grpc-status']).toBe('0')
})

test.each(['', '5', '5s', '-1S', '123456789S'])('the deadline %j is refused', async (timeout) => {
  const { status, reason } = await call([envelope(MESSAGE)], { 'grpc-timeout': timeout })
  expect([status, reason]).toEqual([Code.InvalidArgument, 'invalid_payload'])
})

test('metadata of 64 KB ends its own stream only', async () => {
  const stream = session.request({ ':method': 'POST', ':path': PATH, ...HEADERS, 'x-large': 'x'.repeat(65_536) })
  stream.on('error', () => {})
  stream.end(envelope(MESSAGE)).resume()
  await new Promise((resolve) => stream.once('close', resolve))
  expect(stream.rstCode).toBe(http2.constants.NGHTTP2_REFUSED_STREAM)
  expect((await call([envelope(MESSAGE)])).status).toBe(0)
})

test('an implementation sees how long the caller waits', async () => {
  let timeoutMs: number | undefined
  await using own = await startGateway({
    async send(_, context) {
      timeoutMs = context.timeoutMs()
      return delivered()
    },
  })
  const client = createClient(EmailService, createGrpcTransport({ baseUrl: own.url }))
  await client.send({ ...MAIL, to: [MAIL.to] }, { headers: HEADERS, timeoutMs: 60_000 })
  expect(timeoutMs).toBeGreaterThan(30_000)
  // What the caller sets, less the time of travel.
  expect(timeoutMs).toBeLessThanOrEqual(60_000)
})

test('a deadline that passes before the message has arrived is reported as such', async () => {
  await using own = await startGateway({
    async send(_, { signal }) {
      signal.throwIfAborted()
      return delivered()
    },
  })
  const slow = http2.connect(own.url)
  const stream = slow.request({ ':method': 'POST', ':path': PATH, ...HEADERS, 'grpc-timeout': '1m' })
  stream.resume()
  await expect.poll(() => own.app.inFlight.size).toBe(1)
  setTimeout(() => stream.end(envelope(MESSAGE)), 10)
  const [trailers] = await once(stream, 'trailers')
  expect(trailers['grpc-status']).toBe(String(Code.DeadlineExceeded))
  slow.destroy()
})
