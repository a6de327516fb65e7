import { once } from 'node:events'
import http2 from 'node:http2'
import { constants, deflateSync, gunzipSync, gzipSync } from 'node:zlib'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { encodeEnvelope } from '@connectrpc/connect/protocol'
import { errorFromJsonBytes } from '@connectrpc/connect/protocol-connect'
import { findTrailerError } from '@connectrpc/connect/protocol-grpc'
import {
  compressionBrotli,
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { EmailService, SendRequestSchema, SendResponseSchema } from '../../../gen/verdict/v1/emails_pb.ts'
import { reasonOf } from '../../../server/errors.ts'
import { SHARE_FACTOR } from '../../../server/http/body/body.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { KEY, startGateway, startSlow } from '../gateway.ts'
import { MAIL } from '../requests.ts'
import { delivered } from '../resources.ts'

/** The text of a reply, by the subject: long enough to be packed. */
const REPLY = { short: 'OK', long: 'Accepted. '.repeat(500) }

const gateway = untilEnd(
  await startGateway({
    async send({ subject }) {
      const reply = subject === 'long' ? REPLY.long : REPLY.short
      return { ...delivered(), smtp: { ...delivered().smtp, reply } }
    },
  }),
)
const session = http2.connect(gateway.url)
afterAll(() => session.destroy())

const MiB = 2 ** 20
const message = (more = {}) =>
  toBinary(SendRequestSchema, create(SendRequestSchema, { ...MAIL, to: [MAIL.to], ...more }))
/** The message of a send whose HTML has this many bytes. */
const large = (bytes: number, html = 'x'.repeat(bytes)) => message({ html })

type Protocol = 'gRPC' | 'gRPC-Web' | 'Connect'
const PROTOCOLS: Protocol[] = ['gRPC', 'gRPC-Web', 'Connect']
const HEADERS = {
  gRPC: { 'content-type': 'application/grpc', 'grpc-encoding': 'gzip' },
  'gRPC-Web': { 'content-type': 'application/grpc-web+proto', 'grpc-encoding': 'gzip' },
  Connect: { 'content-type': 'application/proto', 'content-encoding': 'gzip' },
}

interface Reply {
  code: Code | undefined
  reason: string | undefined
  text: string | undefined
  headers: http2.IncomingHttpHeaders
  body: Buffer
}

/** Sends bytes as the packed message of a call. */
async function call(protocol: Protocol, packed: Uint8Array, more = {}, on = session): Promise<Reply> {
  const bytes = protocol === 'Connect' ? packed : encodeEnvelope(1, packed)
  const stream = on.request({
    ':method': 'POST',
    ':path': '/verdict.v1.EmailService/Send',
    authorization: `Bearer ${KEY}`,
    ...HEADERS[protocol],
    'content-length': bytes.length,
    ...more,
  })
  stream.end(bytes)
  const trailers = {}
  stream.on('trailers', (found) => Object.assign(trailers, found))
  const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const error = errorOf(protocol, { headers, trailers, body })
  return { code: error?.code, reason: reasonOf(error), text: error?.rawMessage, headers, body }
}

function errorOf(protocol: Protocol, { headers, trailers, body }: { headers: object; trailers: object; body: Buffer }) {
  if (protocol === 'Connect') {
    const { ':status': status } = headers as http2.IncomingHttpHeaders
    return Number(status) === 200 ? undefined : errorFromJsonBytes(body, undefined, new ConnectError('unreadable'))
  }
  const entries = Object.entries({ ...headers, ...trailers }).filter(([name]) => !name.startsWith(':'))
  const status = new Headers(entries as [string, string][])
  // The trailers of gRPC-Web are the last envelope of its body.
  if (body.includes('grpc-status')) {
    const lines = body.subarray(body.lastIndexOf(Buffer.of(0x80)) + 5).toString()
    for (const line of lines.split('\r\n').filter(Boolean))
      status.set(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim())
  }
  return findTrailerError(status)
}

test.each(PROTOCOLS)('%s: a message in gzip is read, small and large', async (protocol) => {
  for (const bytes of [10, 1_000, 60_000, 70_000, 700_000, 14 * MiB]) {
    const html = bytes > MiB ? Buffer.alloc(bytes / 2, 'ab1c<').toString('hex') : 'y'.repeat(bytes)
    // Noise keeps the ratio of the largest within its limit.
    const noise = bytes > MiB ? html.replaceAll('61623163', () => Math.random().toString(16).slice(2, 10)) : html
    const reply = await call(protocol, gzipSync(large(bytes, noise)))
    expect([reply.code, gateway.sent.at(-1)?.html?.length]).toEqual([undefined, noise.length])
  }
  expect(gateway.app.bodyBudget.inUse()).toBe(0)
})

test.each(PROTOCOLS)('%s: what is not one whole gzip is refused, and named', async (protocol) => {
  const whole = gzipSync(message())
  const flipped = Buffer.from(whole)
  flipped[flipped.length - 6]! ^= 1
  const cases: [Uint8Array, RegExp][] = [
    [whole.subarray(0, -3), /unexpected end of file/],
    [whole.subarray(0, 5), /unexpected end of file/],
    [flipped, /incorrect data check/],
    [message(), /incorrect header check/],
    [deflateSync(message()), /incorrect header check/],
    [Buffer.concat([whole, Buffer.from('more')]), /incorrect header check|bytes follow its end/],
    [Buffer.concat([whole, Buffer.alloc(9)]), /bytes follow its end/],
    [gzipSync(Buffer.from('0f', 'hex')), /not valid Protobuf/],
    [Buffer.concat([gzipSync(large(100_000)), Buffer.alloc(9)]), /bytes follow its end/],
    [gzipSync(large(700_000, Math.random().toString().repeat(40_000))).subarray(0, -20), /unexpected end of file/],
  ]
  for (const [packed, words] of cases) {
    const { code, reason, text } = await call(protocol, packed)
    expect([code, reason, text]).toEqual([Code.InvalidArgument, 'invalid_payload', expect.stringMatching(words)])
  }
  expect(gateway.app.bodyBudget.inUse()).toBe(0)
})

test.each(PROTOCOLS)('%s: a gzip of several members is one message', async (protocol) => {
  for (const bytes of [1_000, 300_000]) {
    const whole = large(bytes)
    const members = [0, 1, 2, 3].map((i) =>
      gzipSync(whole.subarray((i * whole.length) / 4, ((i + 1) * whole.length) / 4)),
    )
    expect((await call(protocol, Buffer.concat(members))).code).toBeUndefined()
    expect(gateway.sent.at(-1)!.html!.length).toBe(bytes)
  }
})

/** A bomb in a few KB, without the memory of its content. */
const bomb = (bytes: number) => gzipSync(Buffer.alloc(bytes), { level: 9 })
const nested = Buffer.concat(Array.from({ length: 100 }, () => bomb(MiB)))

test.each(PROTOCOLS)('%s: a bomb is too large, and takes no share of the budget', async (protocol) => {
  const before = gateway.sent.length
  const heldBytes: number[] = []
  const watch = setInterval(() => heldBytes.push(gateway.app.bodyBudget.inUse()), 1)
  const dense = await call(protocol, bomb(2 * MiB))
  expect([dense.code, dense.reason]).toEqual([Code.ResourceExhausted, 'payload_too_large'])
  expect(dense.text).toContain('200 times')
  for (const packed of [bomb(100 * MiB), nested, bomb(16 * MiB)]) {
    const { code, reason } = await call(protocol, packed)
    expect([code, reason]).toEqual([Code.ResourceExhausted, 'payload_too_large'])
  }
  const noise = Buffer.from(Array.from({ length: 400_000 }, () => Math.random() * 256))
  const honest = await call(protocol, gzipSync(Buffer.concat([noise, Buffer.alloc(15 * MiB)])))
  expect([honest.code, honest.text]).toEqual([Code.ResourceExhausted, expect.stringContaining('15 MiB')])
  clearInterval(watch)
  // The last gzip is over 64 KiB and has a share of its own size.
  expect(Math.max(...heldBytes)).toBeLessThanOrEqual(500_000 * SHARE_FACTOR)
  expect([gateway.sent.length, gateway.app.bodyBudget.inUse()]).toEqual([before, 0])
})

test('the first MiB may have any ratio', async () => {
  expect((await call('gRPC', gzipSync(large(MiB - 1_000), { level: 9 }))).code).toBeUndefined()
})

/** Header, then blocks that hold nothing. */
function emptyBlocks(bytes: number): Buffer {
  const block = Buffer.of(0, 0, 0, 0xff, 0xff)
  return Buffer.concat([gzipSync('').subarray(0, 10), Buffer.alloc(bytes, block)])
}

/** A header with a file name that does not end. */
function longName(bytes: number): Buffer {
  const head = Buffer.from(gzipSync('').subarray(0, 10))
  head[3] = 8
  return Buffer.concat([head, Buffer.alloc(bytes, 'n')])
}

test.each([
  ['empty members', Buffer.concat(Array.from({ length: 500_000 }, () => gzipSync('').subarray()))],
  ['empty blocks', emptyBlocks(10 * MiB)],
  ['a file name of 10 MiB', longName(10 * MiB)],
  ['members without compression', gzipSync(Buffer.alloc(1_000), { strategy: constants.Z_FIXED }).subarray(0, 12)],
])('a gzip of %s is refused before all of it is read, and stops no other call', async (_, packed) => {
  const before = performance.eventLoopUtilization()
  const refused = call('gRPC', packed)
  const other = http2.connect(gateway.url)
  const startedMs = performance.now()
  expect((await call('gRPC', gzipSync(message()), {}, other)).code).toBeUndefined()
  // All of a bomb takes longer to read.
  expect(performance.now() - startedMs).toBeLessThan(2_000)
  other.destroy()
  expect((await refused).reason).toBe('invalid_payload')
  expect(performance.eventLoopUtilization(before).active).toBeLessThan(2_000)
  expect(gateway.app.bodyBudget.inUse()).toBe(0)
})

test('any bytes in the place of a gzip are refused or read, and never an unexpected fault', async () => {
  const whole = gzipSync(message())
  const damaged = fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 })).map(([at, mask]) => {
    const copy = Buffer.from(whole)
    copy[at]! ^= mask
    return copy
  })
  const bytes = fc.oneof(damaged, fc.uint8Array({ maxLength: 64 }))
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...PROTOCOLS), bytes, async (protocol, packed) => {
      const { reason } = await call(protocol, packed)
      expect([undefined, 'invalid_payload', 'payload_too_large']).toContain(reason)
    }),
    { numRuns: 300 },
  )
})

test('a large message is charged for its own size, before its memory is taken', async () => {
  await using slow = await startSlow()
  const own = http2.connect(slow.url)
  const html = Array.from({ length: 200_000 }, () => Math.random().toString(36).slice(2, 7)).join('')
  const packed = gzipSync(large(0, html))
  const answer = call('gRPC', packed, {}, own)
  await expect.poll(() => slow.sent.length).toBe(1)
  const size = large(0, html).length
  // The gzip was charged with its envelope.
  expect(slow.app.bodyBudget.inUse()).toBe((size + 5) * SHARE_FACTOR)
  slow.letGo()
  expect((await answer).code).toBeUndefined()
  expect(slow.app.bodyBudget.inUse()).toBe(0)
  own.destroy()
})

test('a message that finds no room for its content is a transient_failure', async () => {
  const limits = { budgetBytes: 200_000 * SHARE_FACTOR, budgetWaitMs: 200 }
  await using slow = await startSlow({ limits })
  const own = http2.connect(slow.url)
  const first = call('gRPC', gzipSync(large(150_000)), {}, own)
  await expect.poll(() => slow.sent.length).toBe(1)
  const second = await call('Connect', gzipSync(large(150_000)), {}, own)
  expect([second.code, second.reason]).toEqual([Code.Unavailable, 'transient_failure'])
  slow.letGo()
  expect((await first).code).toBeUndefined()
  own.destroy()
})

test('a gzip that arrives too slowly is refused as any other body', async () => {
  const limits = { bodyPace: { bytesPerSecond: 64 * 1_024, afterMs: 300 } }
  await using own = await startGateway({ limits })
  const client = http2.connect(own.url)
  const packed = encodeEnvelope(1, Buffer.concat([gzipSync(message()), Buffer.alloc(200_000)]))
  const stream = client.request({
    ':method': 'POST',
    ':path': '/verdict.v1.EmailService/Send',
    authorization: `Bearer ${KEY}`,
    ...HEADERS.gRPC,
  })
  stream.on('error', () => {}).resume()
  let at = 0
  const drip = setInterval(() => {
    stream.write(packed.subarray(at, at + 1_000))
    at += 1_000
  }, 50)
  const [trailers] = await once(stream, 'trailers')
  clearInterval(drip)
  expect(errorOf('gRPC', { headers: {}, trailers, body: Buffer.alloc(0) })!.rawMessage).toContain('too slowly')
  client.destroy()
})

const TRANSPORTS = {
  gRPC: createGrpcTransport,
  'gRPC-Web': createGrpcWebTransport,
  Connect: (options: Parameters<typeof createGrpcWebTransport>[0]) => createConnectTransport(options),
}

test.each(PROTOCOLS)('%s: a stock client that compresses is served, in Protobuf and JSON', async (protocol) => {
  for (const useBinaryFormat of [true, false]) {
    const transport = TRANSPORTS[protocol]({
      baseUrl: gateway.url,
      httpVersion: '2',
      useBinaryFormat,
      sendCompression: compressionGzip,
      compressMinBytes: 0,
    })
    const client = createClient(EmailService, transport)
    const headers = { authorization: `Bearer ${KEY}` }
    for (const subject of ['short', 'long'] as const) {
      const { smtp } = await client.send({ ...MAIL, to: [MAIL.to], subject }, { headers })
      expect(smtp!.reply).toBe(REPLY[subject])
    }
  }
})

test.each(PROTOCOLS)('%s: another compression is unimplemented, and gzip is named', async (protocol) => {
  const options = {
    baseUrl: gateway.url,
    httpVersion: '2',
    sendCompression: compressionBrotli,
    compressMinBytes: 0,
  } as const
  const client = createClient(EmailService, TRANSPORTS[protocol](options))
  const headers = { authorization: `Bearer ${KEY}` }
  const error = await client.send({ ...MAIL, to: [MAIL.to] }, { headers }).catch((error) => error)
  expect([error.code, error.rawMessage]).toEqual([Code.Unimplemented, expect.stringContaining('gzip')])
})

test('a response over 1 KiB is packed for a caller that asks for gzip, and for no other', async () => {
  const packed = gzipSync(message({ subject: 'long' }))
  const asking = await call('gRPC', packed, { 'grpc-accept-encoding': 'identity,deflate, gzip' })
  expect([asking.headers['grpc-encoding'], asking.body[0]]).toEqual(['gzip', 1])
  expect(asking.body.length).toBeLessThan(500)
  const { smtp } = fromBinary(SendResponseSchema, gunzipSync(asking.body.subarray(5)))
  expect(smtp!.reply).toBe(REPLY.long)
  const short = await call('gRPC', gzipSync(message()), { 'grpc-accept-encoding': 'gzip' })
  expect([short.headers['grpc-encoding'], short.body[0]]).toEqual([undefined, 0])
  for (const accepts of [{}, { 'grpc-accept-encoding': 'identity' }, { 'grpc-accept-encoding': 'notgzip,br' }])
    expect((await call('gRPC', packed, accepts)).body[0]).toBe(0)
  const connect = await call('Connect', packed, { 'accept-encoding': 'gzip' })
  expect(connect.headers['content-encoding']).toBe('gzip')
  expect(fromBinary(SendResponseSchema, gunzipSync(connect.body)).smtp!.reply).toBe(REPLY.long)
})

test.each(['gRPC', 'gRPC-Web'] as const)('%s: every response names gzip, also a refusal', async (protocol) => {
  const replies = [
    await call(protocol, gzipSync(message())),
    await call(protocol, Buffer.from('no gzip')),
    await call(protocol, gzipSync(message()), { authorization: 'Bearer wrong' }),
    await call(protocol, gzipSync(message()), { 'grpc-encoding': 'br' }),
    await call(protocol, gzipSync(message()), { 'idempotency-key': ['a', 'b'] }),
  ]
  expect(replies.map(({ headers }) => headers['grpc-accept-encoding'])).toEqual(replies.map(() => 'gzip'))
  expect(replies.map(({ code }) => code)).toEqual([
    undefined,
    Code.InvalidArgument,
    Code.Unauthenticated,
    Code.Unimplemented,
    Code.InvalidArgument,
  ])
})
