import { once } from 'node:events'
import http2 from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { reasonOf } from '../../server/errors.ts'
import { SHARE_FACTOR } from '../../server/http/body.ts'
import { createByteBudget } from '../../server/http/byte-budget.ts'
import {
  delivered,
  firstAnswer,
  type Gateway,
  hear,
  KEY,
  MAIL,
  open,
  type Parts,
  send,
  startGateway,
} from './gateway.ts'

const stays = () => new AbortController().signal

test('shares are given in the order they were asked for, a large one before a later small one', async () => {
  const { take, inUse } = createByteBudget({ totalBytes: 100, waitMs: 1_000 })
  const order: string[] = []
  const note = (name: string, bytes: number) =>
    take(bytes, stays()).then((release) => {
      order.push(name)
      return release
    })
  const first = await note('first', 60)
  const large = note('large', 90)
  const small = note('small', 10)
  await delay(10)
  expect([order, inUse()]).toEqual([['first'], 60])
  first()
  first()
  const [releaseLarge, releaseSmall] = await Promise.all([large, small])
  expect([order, inUse()]).toEqual([['first', 'large', 'small'], 100])
  releaseLarge()
  releaseSmall()
  expect(inUse()).toBe(0)
})

test('a share larger than the budget takes all of it', async () => {
  const { take, inUse } = createByteBudget({ totalBytes: 100, waitMs: 50 })
  const release = await take(1_000, stays())
  expect(inUse()).toBe(100)
  release()
})

test('who waits too long is told that it is overload, and lets the next one pass', async () => {
  const { take } = createByteBudget({ totalBytes: 100, waitMs: 100 })
  await take(60, stays())
  const late = take(60, stays())
  await delay(50)
  const small = take(30, stays())
  const error = await late.catch((error) => error)
  expect([reasonOf(error), error.message]).toEqual(['transient_failure', expect.stringContaining('overloaded')])
  await small
})

test('who leaves while waiting takes nothing', async () => {
  const { take, inUse } = createByteBudget({ totalBytes: 100, waitMs: 1_000 })
  const release = await take(100, stays())
  const leaver = new AbortController()
  const left = take(100, leaver.signal)
  const next = take(50, stays())
  leaver.abort(new Error('left'))
  await expect(left).rejects.toThrow('left')
  await expect(take(1, leaver.signal)).rejects.toThrow('left')
  release()
  await next
  expect(inUse()).toBe(50)
})

test('whatever happens, no more is given than there is and all of it comes back', async () => {
  const step = fc.record({ bytes: fc.integer({ min: 1, max: 150 }), holdMs: fc.nat(3), leaveMs: fc.option(fc.nat(3)) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { take, inUse } = createByteBudget({ totalBytes: 100, waitMs: 5 })
      const run = async ({ bytes, holdMs, leaveMs }: (typeof steps)[number]) => {
        const leaver = new AbortController()
        if (leaveMs !== null) setTimeout(() => leaver.abort(), leaveMs)
        const release = await take(bytes, leaver.signal).catch(() => undefined)
        expect(inUse()).toBeLessThanOrEqual(100)
        await delay(holdMs)
        release?.()
      }
      await Promise.all(steps.map(run))
      expect(inUse()).toBe(0)
    }),
    { numRuns: 30 },
  )
})

/** A gateway in which one large body at a time has room, and sends last until they are let go. */
async function startNarrow(parts: Parts = {}) {
  const held = Promise.withResolvers<void>()
  const gateway = await startGateway({
    async send() {
      await held.promise
      return delivered()
    },
    limits: { budgetBytes: 200_000 * SHARE_FACTOR, budgetWaitMs: 300 },
    ...parts,
  })
  return { ...gateway, letGo: held.resolve, [Symbol.asyncDispose]: gateway[Symbol.asyncDispose] }
}

const LARGE = { ...MAIL, html: 'x'.repeat(150_000) }
const SENDS: Record<string, (gateway: Gateway) => Promise<unknown>> = {
  REST: ({ url }) => send(url, LARGE).then(({ status, json }) => (status === 200 ? 'ok' : json.error)),
  'REST in chunks': ({ url }) => {
    const body = new Blob([JSON.stringify(LARGE)]).stream()
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const init = { method: 'POST', body, headers, duplex: 'half' }
    return fetch(`${url}/api/v1/emails/send`, init as RequestInit).then(async (answer) =>
      answer.ok ? 'ok' : ((await answer.json()) as { error: string }).error,
    )
  },
  Connect: ({ url }) => rpc(createConnectTransport({ baseUrl: url, httpVersion: '1.1' })),
  gRPC: ({ url }) => rpc(createGrpcTransport({ baseUrl: url })),
}

const rpc = (transport: ReturnType<typeof createGrpcTransport>) =>
  createClient(EmailService, transport)
    .send({ ...LARGE, to: [LARGE.to] }, { headers: { authorization: `Bearer ${KEY}` } })
    .then(() => 'ok', reasonOf)

test.for(Object.entries(SENDS))('%s: a body that finds no room in time is a transient_failure', async ([, post]) => {
  await using gateway = await startNarrow()
  const first = post(gateway)
  await expect.poll(() => gateway.sent.length).toBe(1)
  expect(await post(gateway)).toBe('transient_failure')
  expect(gateway.sent.length).toBe(1)
  const small = send(gateway.url, MAIL)
  await expect.poll(() => gateway.sent.length).toBe(2)
  gateway.letGo()
  expect([await first, (await small).status, await post(gateway)]).toEqual(['ok', 200, 'ok'])
})

test('gRPC: what is larger than it said takes no share beside the one it said', async () => {
  await using gateway = await startNarrow()
  const session = http2.connect(gateway.url)
  const stream = session.request({
    ':method': 'POST',
    ':path': '/verdict.v1.EmailService/Send',
    'content-type': 'application/grpc',
    authorization: `Bearer ${KEY}`,
  })
  const envelope = Buffer.alloc(100_005)
  envelope.writeUInt32BE(100_000, 1)
  stream.end(Buffer.concat([envelope, envelope]))
  stream.resume()
  const [trailers] = await once(stream, 'trailers')
  session.destroy()
  expect(trailers['grpc-message']).toBe('The request has more than one message.')
})

test('a share comes back when the answer is made, however slowly it is taken', async () => {
  await using gateway = await startNarrow()
  gateway.letGo()
  const session = http2.connect(gateway.url, { settings: { initialWindowSize: 0 } })
  const headers = { ':method': 'POST', ':path': '/api/v1/emails/send', authorization: `Bearer ${KEY}` }
  const text = JSON.stringify(LARGE)
  const untaken = session.request({ ...headers, 'content-length': text.length })
  untaken.end(text)
  await once(untaken, 'response')
  expect((await send(gateway.url, LARGE)).status).toBe(200)
  session.destroy()
})

test('a share comes back from callers that leave, waiting or reading or answered', async () => {
  await using gateway = await startNarrow({ limits: { budgetBytes: 200_000 * SHARE_FACTOR, budgetWaitMs: 5_000 } })
  const text = JSON.stringify(LARGE)
  const head = `POST /api/v1/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: ${text.length}\r\n\r\n`
  const leavers = []
  for (const written of [head + text, head, head + text.slice(0, 70_000), head]) {
    const socket = await open(gateway.port)
    socket.write(written)
    leavers.push(socket)
    await delay(30)
  }
  for (const socket of leavers) socket.destroy()
  await expect.poll(() => gateway.app.inFlight.size).toBe(0)
  gateway.letGo()
  const socket = await open(gateway.port)
  socket.write(head + text)
  expect(firstAnswer(await hear(socket)).status).toBe(200)
})
