import { once } from 'node:events'
import http2 from 'node:http2'
import { connect } from 'node:net'
import { duplexPair } from 'node:stream'
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { Health, HealthCheckResponse_ServingStatus } from '../../gen/grpc/health/v1/health_pb.ts'
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { outlast, pauseFor, takes, within } from '../harness/waits.ts'
import { KEY, startGateway, startSlow } from './gateway.ts'
import { firstResponse, MAIL, open, receive, send, talk } from './requests.ts'
import { delivered } from './resources.ts'

const body = JSON.stringify(MAIL)
const REQUEST = `POST /api/v1/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const READYZ = 'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n'

/** A connection that has had one response. */
async function kept(port: number) {
  const socket = await open(port)
  socket.write(READYZ)
  await once(socket, 'data')
  return socket
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const accepted = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return accepted
}

test('accepted requests get their responses on every protocol, then every connection is closed', async () => {
  const gateway = await startSlow()
  const client = createClient(EmailService, createGrpcTransport({ baseUrl: gateway.url }))
  const grpc = client.send({ ...MAIL, to: [MAIL.to] }, { headers: { authorization: `Bearer ${KEY}` } })
  const rest = send(gateway.url, MAIL)
  const raw = await open(gateway.port)
  raw.write(REQUEST)
  await expect.poll(() => gateway.sent.length).toBe(3)

  const closing = gateway.listener.close({ timeoutMs: 10_000 })
  await outlast(400)
  gateway.letGo()
  const received = receive(raw, undefined, () => false)
  expect((await rest).status).toBe(200)
  expect((await grpc).messageId).toMatch(/^msg_/)
  expect((await received).toLowerCase()).toContain('connection: close')
  await closing
  await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow('fetch failed')
})

test('idle connections are served for a moment after the listener has closed, then they are closed', async () => {
  const gateway = await startSlow()
  const [used, idle] = [await kept(gateway.port), await kept(gateway.port)]
  const busy = send(gateway.url, MAIL)
  await expect.poll(() => gateway.sent.length).toBe(1)

  const closing = gateway.listener.close({ timeoutMs: 10_000 })
  const idleEnds = once(idle, 'end')
  while (await accepts(gateway.port)) await pauseFor(10)
  used.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  const { status, head } = firstResponse(await receive(used))
  expect(status).toBe(200)
  expect(head.toLowerCase()).toContain('connection: close')
  // While the call before has no response yet.
  await idleEnds
  expect(gateway.app.inFlight.size).toBe(1)
  gateway.letGo()
  expect((await busy).status).toBe(200)
  await closing
})

test('a call that arrives while the server is too busy to read it gets its response too', async () => {
  const gateway = await startGateway()
  const socket = await kept(gateway.port)
  const received = receive(socket)
  const closing = gateway.listener.close({ timeoutMs: 10_000 })
  setTimeout(() =>
    // After this the event loop runs the timers first, and reads sockets after them.
    setImmediate(() => {
      socket.write(REQUEST)
      const until = performance.now() + 1_000
      while (performance.now() < until);
    }),
  )
  expect(firstResponse(await received).status).toBe(200)
  await closing
})

test('connections that wait for a busy process are accepted before the listener closes', async () => {
  const gateway = await startGateway()
  // Each turn of the event loop accepts one connection.
  let busy = true
  const longTurn = () => {
    const until = performance.now() + 10
    while (performance.now() < until);
    if (busy) setImmediate(longTurn)
  }
  const sockets = Array.from({ length: 150 }, () => connect(gateway.port, '127.0.0.1').on('error', () => {}))
  for (const socket of sockets) socket.write(READYZ)
  setImmediate(longTurn)
  const received = Promise.all(sockets.map((socket) => receive(socket)))
  const closing = gateway.listener.close({ timeoutMs: 60_000 })
  const responses = (await received).filter((text) => text.startsWith('HTTP/1.1 '))
  busy = false
  expect(responses).toHaveLength(150)
  await closing
})

test('after leave() readiness is false, and calls are still accepted, on new connections as well', async () => {
  const gateway = await startGateway()
  const watching = createClient(Health, createGrpcTransport({ baseUrl: gateway.url }))
    .watch({})
    [Symbol.asyncIterator]()
  expect((await watching.next()).value.status).toBe(HealthCheckResponse_ServingStatus.SERVING)
  gateway.app.leave()
  const { status, json } = firstResponse(await talk(gateway.port, READYZ))
  expect([status, json]).toEqual([503, expect.objectContaining({ status: 'not_ready' })])
  expect((await watching.next()).value.status).toBe(HealthCheckResponse_ServingStatus.NOT_SERVING)
  expect((await watching.next()).done).toBe(true)
  expect((await send(gateway.url, MAIL)).status).toBe(200)
  const { head } = firstResponse(await talk(gateway.port, READYZ))
  expect(head.toLowerCase()).not.toContain('connection: close')
  await gateway.close()
})

test('HTTP/2 sessions get GOAWAY, and their open streams get their responses', async () => {
  const gateway = await startSlow()
  const session = http2.connect(gateway.url)
  const stream = session.request({ ':method': 'POST', ':path': '/api/v1/emails/send', authorization: `Bearer ${KEY}` })
  stream.end(body)
  await expect.poll(() => gateway.sent.length).toBe(1)
  const goaway = once(session, 'goaway')
  const closing = gateway.listener.close({ timeoutMs: 10_000 })
  expect((await goaway)[0]).toBe(0)
  gateway.letGo()
  expect((await once(stream, 'response'))[0][':status']).toBe(200)
  stream.resume()
  await closing
  expect(session.destroyed || session.closed).toBe(true)
})

test('an idle HTTP/2 session gets a PING, on which nginx closes it, and a request that crosses it gets its response', async () => {
  const gateway = await startSlow()
  const session = http2.connect(gateway.url)
  await once(session, 'remoteSettings')
  const ping = once(session, 'ping')
  const goaway = once(session, 'goaway')
  const closing = gateway.listener.close({ timeoutMs: 10_000 })
  await ping
  const stream = session.request({ ':method': 'POST', ':path': '/api/v1/emails/send', authorization: `Bearer ${KEY}` })
  stream.end(body)
  expect((await goaway)[0]).toBe(0)
  gateway.letGo()
  expect((await once(stream, 'response'))[0][':status']).toBe(200)
  stream.resume()
  await closing
})

test('an HTTP/2 connection does not end with a response before its PING is answered: nginx would fail the response', async () => {
  const gateway = await startSlow()
  const socket = await open(gateway.port)
  const [near, far] = duplexPair()
  socket.pipe(far).pipe(socket)
  const session = http2.connect(gateway.url, { createConnection: () => near })
  const stream = session.request({ ':method': 'POST', ':path': '/api/v1/emails/send', authorization: `Bearer ${KEY}` })
  stream.end(body)
  await expect.poll(() => gateway.sent.length).toBe(1)
  const closing = gateway.listener.close({ timeoutMs: 10_000 })
  // Nothing from the caller reaches the server any more.
  far.unpipe(socket)
  gateway.letGo()
  expect((await once(stream, 'response'))[0][':status']).toBe(200)
  await once(stream.resume(), 'end')
  const ended = once(socket, 'end')
  expect(await within(1_000, ended, 'open')).toBe('open')
  far.pipe(socket)
  await ended
  await closing
})

test('an HTTP/2 caller that answers no PING delays the shutdown by five seconds at most', async () => {
  const gateway = await startGateway()
  const socket = await open(gateway.port)
  const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])
  socket.resume().write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(emptySettings)
  await once(socket, 'data')
  const watch = stopwatch()
  await gateway.listener.close({ timeoutMs: 20_000 })
  // The promised five seconds, and two of a busy machine.
  expect(watch.ms()).toBeLessThan(7_000)
})

test('an open reflection stream does not delay the shutdown', async () => {
  const gateway = await startGateway()
  const client = createClient(ServerReflection, createGrpcTransport({ baseUrl: gateway.url }))
  async function* ask() {
    yield { messageRequest: { case: 'listServices' as const, value: '' } }
    await new Promise(() => {})
  }
  const responses = client.serverReflectionInfo(ask())[Symbol.asyncIterator]()
  expect((await responses.next()).value.messageResponse.case).toBe('listServicesResponse')
  const watch = stopwatch()
  await gateway.listener.close({ timeoutMs: 10_000 })
  // Without its end the stream holds the shutdown up for 10 s.
  expect(watch.ms()).toBeLessThan(2_000)
})

test('calls that outlast the time are cut', async () => {
  const gateway = await startSlow()
  const cut = send(gateway.url, MAIL)
  await expect.poll(() => gateway.sent.length).toBe(1)
  const watch = stopwatch()
  await Promise.all([gateway.listener.close({ timeoutMs: 300 }), expect(cut).rejects.toThrow('fetch failed')])
  // The time is 300 ms. The call itself never ends.
  expect(watch.ms()).toBeLessThan(1_500)
})

test('an idle server closes at once', async () => {
  const gateway = await startGateway()
  await fetch(`${gateway.url}/healthz`)
  const watch = stopwatch()
  await gateway.listener.close({ timeoutMs: 10_000 })
  // Far less than the 10 s that it may wait.
  expect(watch.ms()).toBeLessThan(1_000)
})

test('under load every request gets a response, other than those that cannot connect', async () => {
  const gateway = await startGateway({
    async send() {
      await takes(5)
      return delivered()
    },
  })
  const counts = { responded: 0, refused: 0, cut: 0 }
  const lane = async () => {
    for (;;) {
      const socket = await open(gateway.port)
      if (socket.destroyed || socket.connecting) return counts.refused++
      for (;;) {
        socket.write(REQUEST)
        const received = await new Promise<string>((resolve) => {
          const done = (text: string) => {
            socket.off('data', onData)
            socket.off('close', onClose)
            resolve(text)
          }
          const onData = (chunk: Buffer) => done(chunk.toString())
          const onClose = () => done('')
          socket.on('data', onData)
          socket.on('close', onClose)
        })
        if (received === '') {
          counts.cut++
          return
        }
        counts.responded++
        if (/connection: close/i.test(received)) return
      }
    }
  }
  const lanes = Array.from({ length: 20 }, lane)
  await expect.poll(() => counts.responded, { interval: 1 }).toBeGreaterThan(100)
  await gateway.listener.close({ timeoutMs: 60_000 })
  await Promise.all(lanes)
  expect(counts.cut).toBe(0)
})
