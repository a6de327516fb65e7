import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { Socket } from 'node:net'
import tls from 'node:tls'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import { AUTHORITY, CERTIFICATE } from '../../harness/certificates.ts'
import {
  DATA,
  END_STREAM,
  ENHANCE_YOUR_CALM,
  frame,
  openFrames,
  openStream,
  repeated,
} from '../../harness/http2-frames.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { KEY, startGateway } from '../gateway.ts'
import { firstResponse, MAIL, open, receive, send } from '../requests.ts'

const gateway = untilEnd(
  await startGateway({
    dashboard: {
      services: [],
      openServices: [],
      gate: async () => undefined,
      hasSession: () => false,
      authenticate: { paths: ['/sign-in/email'], respond: async () => ({ cookies: [], json: '{}' }) },
    },
  }),
)

const SEND = '/api/v1/emails/send'
const SEND_RPC = '/verdict.v1.EmailService/Send'
const BODY = Buffer.from(JSON.stringify(MAIL))
const MESSAGE =
  'Bodies arrive in too many small pieces: over 1000 within 10 s, under 64 bytes on average. Write larger pieces.'
const REFUSED = { code: ENHANCE_YOUR_CALM, text: MESSAGE }
const TYPES = ['application/json', 'application/proto', 'application/grpc', 'application/grpc-web', 'text/plain']

const withKey = (headers: Record<string, string>) => ({ authorization: `Bearer ${KEY}`, ...headers })
const oneByte = frame(DATA, 0, 1, ' ')

/** Sends 2,000 DATA frames of one byte. Returns the GOAWAY. */
async function floodFrames(headers: Record<string, string>, port = gateway.port, on?: Socket) {
  const connection = await openFrames(port, on)
  connection.write(Buffer.concat([openStream(1, headers), repeated(oneByte, 2_000)]))
  const goaway = await connection.goaway
  connection.socket.destroy()
  return goaway
}

test('2,000 DATA frames of one byte end the connection on every path, in every protocol, with and without a key', async () => {
  const paths = [...gateway.app.paths.map(({ path }) => path.replaceAll(/\{[^}]*\}/g, 'x')), '/nope']
  expect(paths).toEqual(expect.arrayContaining(['/api/auth/sign-in/email', SEND, SEND_RPC]))
  expect(paths.length).toBeGreaterThan(50)
  const others: unknown[] = []
  for (const path of paths) {
    for (const type of TYPES) {
      for (const headers of [{}, withKey({})]) {
        const goaway = await floodFrames({ ':path': path, 'content-type': type, ...headers })
        if (goaway?.code !== ENHANCE_YOUR_CALM) others.push({ path, type, headers, goaway })
      }
    }
  }
  expect(others).toEqual([])
  expect((await send(gateway.url, MAIL)).status).toBe(200)
  await expect.poll(() => gateway.app.inFlight.size).toBe(0)
  expect(gateway.lines.filter(({ level }) => level === 50)).toEqual([])
})

test('GOAWAY says why, over TLS too, and the streams of the connection have its error code', async () => {
  await using own = await startGateway({ listen: { tls: CERTIFICATE } })
  const socket = tls.connect({
    port: own.port,
    host: '127.0.0.1',
    ca: AUTHORITY,
    checkServerIdentity: () => undefined,
    ALPNProtocols: ['h2'],
  })
  await once(socket, 'secureConnect')
  expect(await floodFrames(withKey({ ':path': SEND }), own.port, socket)).toEqual(REFUSED)

  const session = http2.connect(gateway.url)
  session.on('error', () => {})
  const stream = session.request(withKey({ ':method': 'POST', ':path': SEND }))
  stream.on('error', () => {})
  const goaway = once(session, 'goaway')
  for (let i = 0; i < 2_000 && !session.destroyed; i++) {
    stream.write(' ')
    await new Promise(setImmediate)
  }
  const [code, , text] = await goaway
  expect([code, text.toString()]).toEqual([REFUSED.code, REFUSED.text])
})

test('pieces are counted when they arrive later than the head of their stream', async () => {
  const connection = await openFrames(gateway.port)
  connection.write(openStream(1, withKey({ ':path': SEND })))
  await expect.poll(() => gateway.app.inFlight.size).toBe(1)
  connection.write(repeated(oneByte, 2_000))
  expect(await connection.goaway).toEqual(REFUSED)
  connection.socket.destroy()
  await expect.poll(() => gateway.app.inFlight.size).toBe(0)
})

test('a connection that was told to calm down opens no stream any more', async () => {
  const before = gateway.lines.length
  const connection = await openFrames(gateway.port)
  connection.write(Buffer.concat([openStream(1, withKey({ ':path': SEND })), repeated(oneByte, 2_000)]))
  expect(await connection.goaway).toEqual(REFUSED)
  connection.write(Buffer.concat([openStream(3, withKey({ ':path': SEND })), frame(DATA, END_STREAM, 3, BODY)]))
  await connection.closed
  expect(gateway.lines.slice(before).filter(({ msg }) => msg === 'request').length).toBe(1)
})

const chunked = (path: string, headers = '') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`
const KEY_LINE = `Authorization: Bearer ${KEY}\r\n`

test.each([
  ['REST', SEND, `${KEY_LINE}Content-Type: application/json\r\n`],
  ['Connect', SEND_RPC, `${KEY_LINE}Content-Type: application/json\r\n`],
  ['gRPC-Web', SEND_RPC, `${KEY_LINE}Content-Type: application/grpc-web\r\n`],
  ['sign-in', '/api/auth/sign-in/email', 'Content-Type: application/json\r\n'],
])('2,000 chunks of one byte are a 400 that says why, and end the connection: %s', async (_, path, headers) => {
  const socket = await open(gateway.port)
  socket.write(chunked(path, headers))
  socket.write('1\r\n \r\n'.repeat(2_000))
  const { status, json, head } = firstResponse(await receive(socket))
  expect([status, json.error, json.message]).toEqual([400, 'invalid_payload', MESSAGE])
  expect(head).toMatch(/connection: close/i)
})

test('chunks that follow a response are counted too: the connection is read no further', async () => {
  const socket = await open(gateway.port)
  socket.write(chunked('/nope'))
  await once(socket, 'data')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const flood = Buffer.from('1\r\n \r\n'.repeat(100_000))
  let written = 0
  while (socket.write(flood) && written < 100 * 2 ** 20) {
    written += flood.length
    await new Promise(setImmediate)
  }
  expect(written).toBeLessThan(50 * 2 ** 20)
  await closed
})

test('TLS records of one byte count as pieces', async () => {
  await using own = await startGateway({ listen: { tls: CERTIFICATE } })
  const socket = tls.connect({ port: own.port, host: '127.0.0.1', ca: AUTHORITY, checkServerIdentity: () => undefined })
  await once(socket, 'secureConnect')
  socket.setNoDelay(true).write(`POST ${SEND} HTTP/1.1\r\nHost: x\r\n${KEY_LINE}Content-Length: 10000\r\n\r\n`)
  const response = once(socket, 'data')
  for (let i = 0; i < 2_000 && socket.writable; i++) await new Promise((resolve) => socket.write(' ', resolve))
  expect(firstResponse((await response).toString()).json.message).toBe(MESSAGE)
  socket.destroy()
})

// What honest callers do.

test('3,000 small gRPC calls on one connection, each in four frames, are all served', async () => {
  const session = http2.connect(gateway.url)
  const empty = Buffer.alloc(5)
  for (let i = 0; i < 300; i++) {
    const calls = Array.from({ length: 10 }, async () => {
      const stream = session.request(
        withKey({ ':method': 'POST', ':path': SEND_RPC, 'content-type': 'application/grpc', te: 'trailers' }),
      )
      stream.resume()
      stream.write(empty.subarray(0, 2))
      await new Promise(setImmediate)
      stream.write(empty.subarray(2))
      stream.end()
      const [trailers] = await once(stream, 'trailers')
      return trailers['grpc-status']
    })
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['0']))
  }
  session.close()
})

test.each([
  ['Connect', (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: '2' })],
  ['Connect on HTTP/1.1', (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: '1.1' })],
  ['gRPC', (baseUrl: string) => createGrpcTransport({ baseUrl })],
  ['gRPC-Web', (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: '2' })],
])('2,000 small calls of the client library on a kept connection are all served: %s', async (_, transport) => {
  const client = createClient(EmailService, transport(gateway.url))
  for (let i = 0; i < 100; i++) {
    const calls = Array.from({ length: 20 }, () => client.send({ to: ['a@b.test'] }, { headers: withKey({}) }))
    expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([1]))
  }
})

test('a body byte by byte is served on HTTP/2 and on HTTP/1.1', async () => {
  const connection = await openFrames(gateway.port)
  connection.write(openStream(1, withKey({ ':path': SEND, 'content-type': 'application/json' })))
  for (const byte of BODY) connection.write(frame(DATA, 0, 1, Buffer.of(byte)))
  connection.write(frame(DATA, END_STREAM, 1))
  await expect.poll(() => connection.ended()).toBe(1)
  connection.socket.destroy()

  const request = http.request(gateway.url + SEND, { method: 'POST', headers: withKey({}) })
  request.setHeader('content-length', BODY.length)
  for (const byte of BODY) {
    request.write(Buffer.of(byte))
    await new Promise(setImmediate)
  }
  request.end()
  const [response] = await once(request, 'response')
  expect(response.statusCode).toBe(200)
  response.resume()
})

test('a large body in pieces of 64 bytes is served', async () => {
  const text = 'x'.repeat(300_000)
  const bytes = Buffer.from(JSON.stringify({ ...MAIL, text }))
  const socket = await open(gateway.port)
  socket.write(chunked(SEND, KEY_LINE))
  const chunks: string[] = []
  for (let i = 0; i < bytes.length; i += 64) {
    const piece = bytes.subarray(i, i + 64)
    chunks.push(`${piece.length.toString(16)}\r\n${piece}\r\n`)
  }
  socket.write(`${chunks.join('')}0\r\n\r\n`)
  expect(firstResponse(await receive(socket)).status).toBe(200)
  expect(gateway.sent.at(-1)!.text).toBe(text)
})
