import { once } from 'node:events'
import http2 from 'node:http2'
import { connect, createServer, type Socket } from 'node:net'
import tls from 'node:tls'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CERTIFICATE } from '../../harness/certificates.ts'
import { listenUntilEnd } from '../../harness/until-end.ts'
import { letArrive, outlast, quietFor, takes } from '../../harness/waits.ts'
import { type Gateway, KEY, startEndless, startGateway, startSlow } from '../gateway.ts'
import { firstResponse, MAIL, open, receive, send, talk } from '../requests.ts'
import { delivered } from '../resources.ts'

const BODY = JSON.stringify(MAIL)
const HEAD = `POST /api/v1/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n`
const SEND = `${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`
const HEALTHZ = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
/** A response larger than any socket buffer. */
const LARGE = 'x'.repeat(8 * 2 ** 20)

const startLarge = (listen: object) =>
  startGateway({ listen, send: async () => ({ ...delivered(), messageId: LARGE }) })

/** A connection whose reading side stays open when its writing side ends. */
async function openHalf(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** A proxy to a port that can hold back the responses. */
async function startRelay(port: number) {
  let stop = () => {}
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const socket of [near, far]) socket.on('error', () => {})
    near.pipe(far).pipe(near)
    stop = () => void far.unpipe(near).pause()
  })
  return {
    url: `http://127.0.0.1:${await listenUntilEnd(server)}`,
    stop: () => stop(),
  }
}

/** Connections that the server has open. */
const openConnections = ({ listener }: Gateway) => listener.connections()

test('TLS: a connection whose handshake breaks off, or does not finish in time, is closed', async () => {
  await using gateway = await startGateway({ listen: { tls: CERTIFICATE, sniffTimeoutMs: 300 } })
  const silent = await open(gateway.port)
  const halfWay = await open(gateway.port)
  halfWay.write(Buffer.from('16030100c8010000c40303', 'hex'))
  const plain = await open(gateway.port)
  plain.write(HEALTHZ)
  const closed = Promise.all([silent, halfWay, plain].map((socket) => once(socket.resume(), 'close')))
  const distrustful = tls.connect(gateway.port, '127.0.0.1')
  await once(distrustful, 'error')
  await closed
  await expect.poll(() => openConnections(gateway)).toBe(0)
})

test('HTTP/1.1: a caller that never reads its response loses the connection', async () => {
  await using gateway = await startLarge({ stalledResponseMs: 200 })
  const socket = await open(gateway.port)
  socket.pause()
  socket.write(SEND)
  await expect.poll(() => gateway.sent.length).toBe(1)
  await expect.poll(() => [gateway.app.inFlight.size, openConnections(gateway)]).toEqual([0, 0])
})

test('HTTP/2: a stream that the caller never reads is closed, and the other streams of its connection continue', async () => {
  await using gateway = await startLarge({ stalledResponseMs: 200 })
  const session = http2.connect(gateway.url)
  const stalled = session.request({
    ':method': 'POST',
    ':path': '/api/v1/emails/send',
    authorization: `Bearer ${KEY}`,
  })
  stalled.on('error', () => {})
  stalled.end(BODY)
  await once(stalled, 'response')
  await expect.poll(() => gateway.app.inFlight.size).toBe(0)
  await outlast(500)
  const other = session.request({ ':path': '/healthz' })
  expect((await once(other, 'response'))[0][':status']).toBe(200)
  session.destroy()
})

test('HTTP/2: a connection that the caller never reads is closed', async () => {
  await using gateway = await startLarge({ stalledResponseMs: 200 })
  const relay = await startRelay(gateway.port)
  const session = http2.connect(relay.url, { settings: { initialWindowSize: 2 ** 30 } })
  session.on('error', () => {})
  await once(session, 'remoteSettings')
  session.setLocalWindowSize(2 ** 30)
  await new Promise((acknowledged) => session.ping(acknowledged))
  relay.stop()
  const stream = session.request({ ':method': 'POST', ':path': '/api/v1/emails/send', authorization: `Bearer ${KEY}` })
  stream.on('error', () => {})
  stream.end(BODY)
  await expect.poll(() => gateway.sent.length).toBe(1)
  await expect.poll(() => [gateway.app.inFlight.size, openConnections(gateway)]).toEqual([0, 0])
  session.destroy()
})

test('a slow response is not a stalled one: a caller may wait longer for a response than it may leave one unread', async () => {
  await using gateway = await startGateway({
    listen: { stalledResponseMs: 50 },
    send: async () => {
      await takes(500)
      return delivered()
    },
  })
  expect((await send(gateway.url, MAIL)).status).toBe(200)
})

test('an address has a bounded number of connections; the next one is accepted when one closes', async () => {
  await using gateway = await startGateway({ listen: { maxConnectionsPerAddress: 3 } })
  const sockets = await Promise.all([1, 2, 3].map(() => open(gateway.port)))
  await expect.poll(() => openConnections(gateway)).toBe(3)
  expect(await talk(gateway.port, HEALTHZ)).toBe('')
  sockets[0]!.destroy()
  await expect.poll(() => openConnections(gateway)).toBe(2)
  expect(firstResponse(await talk(gateway.port, HEALTHZ)).status).toBe(200)
  for (const socket of sockets) socket.destroy()
})

test('HTTP/1.1: 100 requests of a connection may wait for their responses; with one more it is closed', async () => {
  await using gateway = await startGateway()
  const socket = await open(gateway.port)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  let responses = ''
  socket.on('data', (chunk) => {
    responses += chunk
  })
  const count = () => responses.split('HTTP/1.1 200 OK').length - 1
  socket.write(HEALTHZ.repeat(100))
  await expect.poll(count).toBe(100)
  socket.write(HEALTHZ.repeat(100))
  await expect.poll(count).toBe(200)
  socket.write(HEALTHZ.repeat(2_000))
  await closed
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)
})

test('the number of all connections is bounded, trusted proxies included', async () => {
  const bounds = { maxConnections: 3, maxConnectionsPerAddress: 1, trustProxy: ['127.0.0.0/8'] }
  await using gateway = await startGateway({ listen: bounds })
  const sockets = await Promise.all([1, 2, 3, 4, 5].map(() => open(gateway.port)))
  for (const socket of sockets) socket.on('error', () => {})
  await expect.poll(() => sockets.filter(({ destroyed }) => destroyed).length).toBe(2)
  expect(openConnections(gateway)).toBe(3)
  expect(firstResponse(await talk(gateway.port, HEALTHZ)).status).toBe(200)
  for (const socket of sockets) socket.destroy()
})

/** What strangers and one account may hold open. */
const HELD = {
  'no octet': '',
  'half of a head': 'GET /healthz HTTP/1.1\r\nHost',
  'an answered request': HEALTHZ,
  'half of a body': `${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY.slice(0, 5)}`,
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
}

test.each([undefined, CERTIFICATE])(
  'whatever others hold open, a caller gets in and its response (TLS: %#)',
  async (pair) => {
    const kinds = fc.array(fc.constantFrom(...(Object.keys(HELD) as (keyof typeof HELD)[])), {
      minLength: 6,
      maxLength: 12,
    })
    await using gateway = await startGateway({
      listen: { maxConnections: 6, tls: pair },
      async send(_, { signal }) {
        await once(signal, 'abort')
        throw signal.reason
      },
    })
    const connectTo = () => {
      const socket = pair
        ? tls.connect({ port: gateway.port, rejectUnauthorized: false })
        : connect(gateway.port, '127.0.0.1')
      return socket.on('error', () => {})
    }
    await fc.assert(
      fc.asyncProperty(kinds, async (held) => {
        const waiting = connectTo()
        waiting.write(SEND)
        await expect.poll(() => gateway.app.inFlight.size).toBe(1)
        const sockets = held.map((kind) =>
          connectTo().on('connect', function (this: Socket) {
            this.write(HELD[kind])
          }),
        )
        await Promise.all(sockets.map((socket) => socket.destroyed || once(socket, pair ? 'secureConnect' : 'connect')))
        const caller = connectTo()
        caller.write(HEALTHZ)
        expect(String((await once(caller, 'data'))[0])).toMatch(/^HTTP\/1.1 200/)
        expect(waiting.destroyed).toBe(false)
        for (const socket of [waiting, caller, ...sockets]) socket.destroy()
        await expect.poll(() => gateway.app.inFlight.size).toBe(0)
      }),
      { numRuns: 10 },
    )
  },
)

test('a caller that ends its side after the request gets its response', async () => {
  const gateway = await startSlow()
  const socket = await openHalf(gateway.port)
  socket.end(SEND)
  await expect.poll(() => gateway.sent.length).toBe(1)
  await quietFor(500)
  expect(gateway.app.inFlight.size).toBe(1)
  gateway.letGo()
  const received = await receive(socket, 20_000, (text) => / 200 OK/.test(text))
  expect(received.replaceAll('HTTP/1.1 102 Processing\r\n\r\n', '')).toMatch(/^HTTP\/1\.1 200 OK/)
  await gateway.close()
})

test('a caller that ends its side in the middle of a body gets a 400 that says so', async () => {
  await using gateway = await startGateway()
  const socket = await openHalf(gateway.port)
  socket.end(`${HEAD}Content-Length: ${BODY.length}\r\n\r\n{"to"`)
  const { status, json } = firstResponse(await receive(socket))
  expect([status, json.message]).toEqual([400, 'The request ends before it is complete.'])
  await expect.poll(() => gateway.app.inFlight.size).toBe(0)
})

test.each([
  ['HTTP/1.1', SEND],
  ['HTTP/1.0', SEND.replace('HTTP/1.1', 'HTTP/1.0')],
])('%s: a caller that leaves while it waits aborts the call', async (_, request) => {
  await using gateway = await startEndless()
  const socket = await open(gateway.port)
  socket.write(request)
  await expect.poll(() => gateway.sent.length).toBe(1)
  socket.destroy()
  await gateway.aborted
})

const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`

test.each([
  ['a chunk size that is not a number', `${CHUNKED}5\r\n{"to"\r\n`, 'zz\r\n'],
  ['a chunk longer than its size', `${CHUNKED}5\r\n{"to"\r\n`, '2\r\nabcdef\r\n'],
  ['a chunk size over 64 bits', `${CHUNKED}5\r\n{"to"\r\n`, 'fffffffffffffffff\r\n'],
  ['a NUL in a trailer', `${CHUNKED}5\r\n{"to"\r\n`, '0\r\nA: \0\r\n\r\n'],
])('%s, after the call has started, is a 400 with the body of every error', async (_, start, broken) => {
  await using gateway = await startGateway()
  const socket = await open(gateway.port)
  socket.write(start)
  await expect.poll(() => gateway.app.inFlight.size).toBe(1)
  socket.write(broken)
  const { status, json, head } = firstResponse(await receive(socket))
  expect([status, json.error]).toEqual([400, 'invalid_payload'])
  expect(head.toLowerCase()).toContain('connection: close')
  await expect.poll(() => gateway.app.inFlight.size).toBe(0)
  expect(gateway.sent).toEqual([])
  await expect
    .poll(() => gateway.lines)
    .toContainEqual(expect.objectContaining({ code: 'invalid_payload', msg: 'request' }))
  expect(gateway.lines.filter(({ level }) => level === 50)).toEqual([])
})

test.each([
  ['bytes that are not HTTP', 'nonsense\r\n\r\n', 400],
  ['a request without a Host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
  ['CONNECT', 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n', 405],
])('%s behind a request without a response yet: both get their responses, in order', async (_, second, status) => {
  const gateway = await startSlow()
  const socket = await open(gateway.port)
  socket.write(SEND + second)
  await expect.poll(() => gateway.sent.length).toBe(1)
  await letArrive(100)
  const received = receive(socket, 20_000, (text) => (text.match(/^HTTP\/1\.1 /gm) ?? []).length === 2)
  gateway.letGo()
  expect((await received).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', `HTTP/1.1 ${status}`])
  await gateway.close()
})

test.each([
  ['Host', 'Host: y\r\n'],
  ['Authorization', `Authorization: Bearer ${KEY}\r\n`],
  ['Content-Type', 'Content-Type: application/json\r\nContent-Type: text/plain\r\n'],
  ['Content-Length', 'Content-Length: 6\r\n'],
])('HTTP/1.1: two headers %s are a 400, and the service sees nothing', async (_, line) => {
  await using gateway = await startGateway()
  const received = await talk(gateway.port, SEND.replace('\r\n\r\n', `\r\n${line}\r\n`))
  const { status, json } = firstResponse(received)
  expect([status, json.error]).toEqual([400, 'invalid_payload'])
  expect(gateway.sent).toEqual([])
})

test.each(['authorization', 'content-type', 'content-length'])('HTTP/2: two headers %s are refused', async (name) => {
  await using gateway = await startGateway()
  const session = http2.connect(gateway.url, { strictSingleValueFields: false } as object)
  const stream = session.request([
    ':method',
    'POST',
    ':path',
    '/api/v1/emails/send',
    ':scheme',
    'http',
    ':authority',
    'x',
    'authorization',
    `Bearer ${KEY}`,
    name,
    name === 'content-length' ? '5' : 'a',
    name,
    name === 'content-length' ? '6' : 'b',
  ] as never)
  const response = await once(stream, 'response').then(
    ([headers]) => headers[':status'],
    () => 'reset',
  )
  expect([400, 'reset']).toContain(response)
  expect(gateway.sent).toEqual([])
  session.destroy()
})
