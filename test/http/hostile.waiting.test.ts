import { once } from 'node:events'
import http2 from 'node:http2'
import { text as textOf } from 'node:stream/consumers'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { stopwatch } from '../harness/stopwatch.ts'
import { anyCharacter } from '../harness/text.ts'
import { untilEnd } from '../harness/until-end.ts'
import { letArrive, pauseFor } from '../harness/waits.ts'
import { KEY, startEndless, startGateway, startSlow } from './gateway.ts'
import { ask, firstResponse, MAIL, open, receive, send, talk } from './requests.ts'

const gateway = untilEnd(
  await startGateway({
    listen: { sniffTimeoutMs: 300, headersTimeoutMs: 500 },
    limits: { bodyTimeoutMs: 400 },
  }),
)

const KEY_LINE = `Authorization: Bearer ${KEY}\r\n`
const HEAD = `POST /api/v1/emails/send HTTP/1.1\r\nHost: x\r\n${KEY_LINE}`
const BODY = JSON.stringify(MAIL)

test.each([
  ['bytes that are not HTTP', 'hello\r\n\r\n'],
  ['TLS on a port without it', Buffer.from('16030100c8010000c40303', 'hex')],
  ['chunks beside a Content-Length', `${HEAD}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`],
  ['two Content-Lengths', `${HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}   `],
  ['a Content-Length beside chunks', `${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a Content-Length that is not a number', `${HEAD}Content-Length: 5x\r\n\r\n{}`],
  ['a negative Content-Length', `${HEAD}Content-Length: -5\r\n\r\n{}`],
  ['a huge Content-Length', `${HEAD}Content-Length: 99999999999999999999999\r\n\r\n{}`],
  ['a header line without a colon', 'GET / HTTP/1.1\r\nHost: x\r\nnope\r\n\r\n'],
  ['a space before the colon', 'GET / HTTP/1.1\r\nHost : x\r\n\r\n'],
  ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n'],
  ['a folded header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n'],
  ['headers over 16 KiB', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`],
  ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n'],
  ['a method that does not exist', 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['HTTP/3.0', 'GET / HTTP/3.0\r\nHost: x\r\n\r\n'],
  ['a chunk with a wrong size', `${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
  ['a bare LF', 'GET / HTTP/1.1\nHost: x\n\n'],
])('%s is a 400 with the body of every error, or a closed connection', async (_, bytes) => {
  const received = await talk(gateway.port, bytes)
  if (received !== '') expect(firstResponse(received).status).toBe(400)
  expect((await send(gateway.url, MAIL)).status).toBe(200)
})

test.each([
  [
    'Content-Length: 5\r\nTransfer-Encoding: chunked',
    'Content-Length occurs beside Transfer-Encoding. Send one of the two.',
  ],
  [
    'Transfer-Encoding: chunked\r\nContent-Length: 5',
    'Content-Length occurs beside Transfer-Encoding. Send one of the two.',
  ],
  ['Content-Length: 5\r\nContent-Length: 5', 'Content-Length occurs twice. Send it once.'],
  ['Content-Length: 5x', 'The Content-Length is not a number.'],
  ['Transfer-Encoding: gzip', 'The only Transfer-Encoding that is read is chunked.'],
])('%j: the error says what is wrong', async (headers, message) => {
  const received = await talk(gateway.port, `${HEAD}${headers}\r\n\r\n0\r\n\r\n`)
  expect(firstResponse(received).json.message).toBe(message)
})

test('CONNECT is a 405', async () => {
  expect(firstResponse(await talk(gateway.port, 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n')).status).toBe(405)
})

test.each([
  ['Upgrade to WebSocket', 'Connection: upgrade\r\nUpgrade: websocket\r\n'],
  ['Upgrade to h2c', 'Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'],
  ['an unknown expectation', 'Expect: tea\r\n'],
])('%s is ignored', async (_, header) => {
  expect(firstResponse(await talk(gateway.port, `GET /healthz HTTP/1.1\r\nHost: x\r\n${header}\r\n`)).status).toBe(200)
})

test('HTTP/1.0 without Host is served', async () => {
  expect(firstResponse(await talk(gateway.port, 'GET /healthz HTTP/1.0\r\n\r\n')).status).toBe(200)
})

test('an absolute URL and a doubled slash lead to the path they name, or to an error', async () => {
  for (const target of ['http://other.test/nope', '//nope', '/api/v1/../../etc/passwd', '*']) {
    const { status } = firstResponse(await talk(gateway.port, `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`))
    expect([200, 302, 400, 404]).toContain(status)
  }
})

test('pipelined requests get their responses in order', async () => {
  const request = (id: number) => `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: n${id}\r\n\r\n`
  const isThird = (text: string) => (text.match(/x-request-id/gi) ?? []).length === 3
  const received = await talk(gateway.port, request(1) + request(2) + request(3), undefined, isThird)
  expect([...received.matchAll(/x-request-id: (n\d)/gi)].map(([, id]) => id)).toEqual(['n1', 'n2', 'n3'])
})

test('a fault in the body of a pipelined request does not take the response to the request before it', async () => {
  const first = `${HEAD}X-Request-Id: n1\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
  const second = `${HEAD}X-Request-Id: n2\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`
  const isSecond = (text: string) => (text.match(/x-request-id/gi) ?? []).length === 2
  const received = await talk(gateway.port, first + second, undefined, isSecond)
  const responses = received.matchAll(/HTTP\/1\.1 (\d+).*?x-request-id: (n\d)/gis)
  expect(Array.from(responses, ([, status, id]) => `${id} ${status}`)).toEqual(['n1 200', 'n2 400'])
})

test('a body in chunks, split anywhere, is read', async () => {
  const socket = await open(gateway.port)
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`)
  for (const character of BODY) socket.write(`1\r\n${character}\r\n`)
  socket.write('0\r\n\r\n')
  expect(firstResponse(await receive(socket)).status).toBe(200)
})

test('100 Continue is sent for a valid key, and not for a wrong one', async () => {
  const expecting = `Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`
  const socket = await open(gateway.port)
  socket.write(HEAD + expecting)
  const [first] = await once(socket, 'data')
  expect(first.toString()).toMatch(/^HTTP\/1\.1 100 Continue/)
  socket.write(BODY)
  expect(firstResponse(await receive(socket)).status).toBe(200)
  expect(firstResponse(await talk(gateway.port, HEAD.replace(KEY, 'wrong') + expecting)).status).toBe(401)
})

test('100 Continue is never written into a response whose turn has not come', async () => {
  await using slow = await startSlow()
  const socket = await open(slow.port)
  const length = `Content-Length: ${BODY.length}\r\n`
  socket.write(`${HEAD}${length}\r\n${BODY}`)
  socket.write(`${HEAD.replace('send', 'validate')}Expect: 100-continue\r\n${length}\r\n`)
  await expect.poll(() => slow.app.inFlight.size).toBe(2)
  socket.write(BODY)
  // The second call ends before its turn, which nothing reports.
  await letArrive(300)
  slow.letGo()
  const statuses = (text: string) => Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status)
  const received = await receive(socket, undefined, (text) => text.includes('"sandbox"'))
  expect(statuses(received)).toEqual(['200', '200'])
})

test('a connection that sends nothing is closed', async () => {
  const watch = stopwatch()
  for (const bytes of ['', 'PRI * HT']) expect(await talk(gateway.port, bytes, 2_000)).toBe('')
  // Both limits together. A connection that is left open is waited for 2 s.
  expect(watch.ms()).toBeLessThan(1_500)
})

test('a head that never ends is cut off', async () => {
  const socket = await open(gateway.port)
  socket.write('GET / HTTP/1.1\r\n')
  const drip = setInterval(() => socket.write('A: b\r\n'), 100)
  const { status } = firstResponse(await receive(socket))
  clearInterval(drip)
  expect(status).toBe(400)
})

test.each([
  ['with a length', `${HEAD}Content-Length: 1000\r\n\r\n{`, ' '],
  ['with a large length', `${HEAD}Content-Length: 100000\r\n\r\n{`, ' '],
  ['in chunks', `${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`, '1\r\n \r\n'],
])('a body that never ends, %s, is a 400 in time', async (_, start, drop) => {
  const socket = await open(gateway.port)
  socket.write(start)
  const drip = setInterval(() => socket.write(drop), 50)
  const { status, json } = firstResponse(await receive(socket))
  clearInterval(drip)
  expect([status, json.message]).toEqual([400, 'The body did not arrive within 1 s.'])
})

test('a body that never ends on HTTP/2 is refused in time, too', async () => {
  const session = http2.connect(gateway.url)
  const headers = { ':method': 'POST', ':path': '/api/v1/emails/send', authorization: `Bearer ${KEY}` }
  const stream = session.request(headers)
  stream.write('{')
  const [response] = await once(stream, 'response')
  expect(response[':status']).toBe(400)
  stream.destroy()
  session.destroy()
})

test('chunks over 15 MiB are a 413 before they end', async () => {
  // 15 MiB may take longer than this file gives other bodies.
  await using own = await startGateway()
  const socket = await open(own.port)
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`)
  const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(2 ** 20, ' '), Buffer.from('\r\n')])
  for (let i = 0; i < 16; i++) socket.write(chunk)
  expect(firstResponse(await receive(socket)).status).toBe(413)
})

test('a caller that leaves aborts the call, and gets no response', async () => {
  await using own = await startEndless()
  const socket = await open(own.port)
  socket.write(`${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`)
  await expect.poll(() => own.sent.length).toBe(1)
  socket.destroy()
  await own.aborted
  await expect.poll(() => own.lines).toContainEqual(expect.objectContaining({ code: 'client_left', msg: 'request' }))
  expect(own.lines.filter((line) => line.msg === 'unexpected fault')).toEqual([])
  expect(own.app.inFlight.size).toBe(0)
})

test('a caller that leaves in the middle of a body leaves nothing behind', async () => {
  const socket = await open(gateway.port)
  socket.write(`${HEAD}Content-Length: 1000000\r\n\r\n{"to":`)
  await letArrive(50)
  socket.destroy()
  await expect.poll(() => gateway.app.inFlight.size).toBe(0)
  expect(gateway.lines.filter((line) => line.level === 50)).toEqual([])
})

test('one HTTP/2 connection has at most 100 requests at a time', async () => {
  const session = http2.connect(gateway.url)
  const [settings] = await once(session, 'remoteSettings')
  session.destroy()
  expect(settings.maxConcurrentStreams).toBe(100)
})

test('rapid reset on HTTP/2: no cancelled request reaches the service, and the connection is closed', async () => {
  const before = gateway.sent.length
  const session = http2.connect(gateway.url)
  session.on('error', () => {})
  const closed = new Promise((resolve) => session.once('close', resolve))
  const headers = { ':method': 'POST', ':path': '/api/v1/emails/send', authorization: `Bearer ${KEY}` }
  for (let i = 0; i < 2_000 && !session.destroyed; i++) {
    const stream = session.request(headers)
    stream.on('error', () => {})
    stream.write('{')
    stream.close(http2.constants.NGHTTP2_CANCEL)
    if (i % 50 === 0) await pauseFor(1)
  }
  await closed
  await expect.poll(() => gateway.app.inFlight.size).toBe(0)
  expect(gateway.sent.length).toBe(before)
  expect((await send(gateway.url, MAIL)).status).toBe(200)
})

test('any JSON gets a documented response', async () => {
  const optional = ['cc', 'bcc', 'reply_to', 'attachments', 'headers', 'tenant_id', 'metadata', 'tag']
  const field = fc.constantFrom(...Object.keys(MAIL), ...optional, '__proto__')
  const json = fc.oneof(fc.jsonValue(), fc.dictionary(field, fc.jsonValue({ maxDepth: 3 })))
  await fc.assert(
    fc.asyncProperty(json, async (body) => {
      expect([200, 400]).toContain((await send(gateway.url, body)).status)
    }),
    { numRuns: 250 },
  )
})

test('any bytes as a body get a documented response', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (body) => {
      expect([200, 400]).toContain((await send(gateway.url, body)).status)
    }),
    { numRuns: 200 },
  )
})

test('any bytes as a Protobuf message get a documented response', async () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.constantFrom(Buffer.from('3a020a00', 'hex'), Buffer.alloc(2_000, 0x0a)),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 6 }), async (pieces) => {
      const response = await fetch(`${gateway.url}/verdict.v1.EmailService/SendBatch`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/proto' },
        body: Buffer.concat(pieces),
      })
      if (response.status === 200) return
      const { code, details } = (await response.json()) as { code: string; details: { debug: object }[] }
      expect([response.status, code]).toEqual([400, 'invalid_argument'])
      expect(details[0]!.debug).toMatchObject({ reason: 'invalid_payload', domain: 'verdict' })
    }),
    { numRuns: 200 },
  )
})

test('any path and query get a documented response', async () => {
  const names = fc.constantFrom('limit', 'status', 'from', 'sandbox', 'recipient', 'cursor', 'x')
  const query = fc.array(fc.tuple(names, fc.string({ unit: anyCharacter, maxLength: 20 })), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(fc.webPath(), query, async (path, pairs) => {
      const search = pairs.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join('&')
      await ask(gateway.url, path.startsWith('/') ? path : `/${path}`)
      expect([200, 400]).toContain((await ask(gateway.url, `/api/v1/events?${search}`)).status)
    }),
    { numRuns: 150 },
  )
})

test('any bytes on the wire leave the server up, and a response to them has the body of every error', async () => {
  const pieces = fc.oneof(
    fc.constantFrom(
      'GET ',
      '/healthz',
      ' HTTP/1.1\r\n',
      'Host: x\r\n',
      '\r\n',
      'Content-Length: 3\r\n',
      'PRI * HTTP/2.0\r\n',
    ),
    fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { maxLength: 12 }), async (parts) => {
      const received = await talk(gateway.port, Buffer.from(parts.join(''), 'latin1'), 20)
      if (received.startsWith('HTTP/1.1')) firstResponse(received)
    }),
    { numRuns: 200 },
  )
  expect((await send(gateway.url, MAIL)).status).toBe(200)
})

const SEND_RPC = '/verdict.v1.EmailService/Send'
const RPC_HEAD = `${KEY_LINE}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`

test.each([
  ['a Host that is not a host', `POST ${SEND_RPC} HTTP/1.1\r\nHost: [\r\n${RPC_HEAD}`],
  ['an empty Host', `POST ${SEND_RPC} HTTP/1.1\r\nHost:\r\n${RPC_HEAD}`],
  ['no Host on HTTP/1.0', `POST ${SEND_RPC} HTTP/1.0\r\n${RPC_HEAD}`],
  ['a URL of another host as its target', `POST http://other.test${SEND_RPC} HTTP/1.1\r\nHost: x\r\n${RPC_HEAD}`],
])('an RPC with %s is served', async (_, bytes) => {
  const received = await talk(gateway.port, bytes, 1_000)
  expect(received.slice(0, 15)).toMatch(/^HTTP\/1\.1 200/)
  expect(received).toContain('DELIVERY_STATUS_DELIVERED')
})

test('an RPC with an :authority that is not a host is served', async () => {
  const session = http2.connect(gateway.url)
  const headers = { ':method': 'POST', ':path': SEND_RPC, 'content-type': 'application/json' }
  const stream = session.request({ ...headers, ':authority': '[', authorization: `Bearer ${KEY}` })
  stream.end('{}').resume()
  const [response] = await once(stream, 'response')
  expect(response[':status']).toBe(200)
  session.close()
})

test.each([
  ['an RPC', SEND_RPC],
  ['a path that does not exist', '/nope'],
  ['a path without GET', '/api/v1/emails/send'],
])('HEAD of %s on HTTP/2 is an error without a body', async (_, path) => {
  const session = http2.connect(gateway.url)
  const stream = session.request({ ':method': 'HEAD', ':path': path, authorization: `Bearer ${KEY}` })
  const [[response], text] = await Promise.all([once(stream, 'response'), textOf(stream)])
  expect([404, 405]).toContain(response[':status'])
  expect([Number(response['content-length']) > 0, text, stream.rstCode]).toEqual([true, '', 0])
  session.close()
})

test('a caller that leaves an RPC gets no response, and the process prints nothing', async () => {
  const printed = vi.spyOn(console, 'error')
  await using own = await startEndless()
  const session = http2.connect(own.url)
  const stream = session.request({
    ':method': 'POST',
    ':path': SEND_RPC,
    'content-type': 'application/grpc',
    authorization: `Bearer ${KEY}`,
  })
  stream.end(Buffer.alloc(5))
  await expect.poll(() => own.sent.length).toBe(1)
  stream.close(http2.constants.NGHTTP2_CANCEL)
  const socket = await open(own.port)
  socket.write(`POST ${SEND_RPC} HTTP/1.1\r\nHost: x\r\n${RPC_HEAD}`)
  await expect.poll(() => own.sent.length).toBe(2)
  socket.destroy()
  await expect.poll(() => own.lines.filter(({ msg }) => msg === 'request').length).toBe(2)
  expect(own.lines.filter(({ level }) => level === 50)).toEqual([])
  expect(printed).not.toHaveBeenCalled()
  printed.mockRestore()
  session.close()
})
