import { once } from 'node:events'
import http2 from 'node:http2'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import type { KeyGate } from '../../../server/caller.ts'
import { reasonOf } from '../../../server/errors.ts'
import { LEAST_BYTES, SHARE_FACTOR } from '../../../server/http/body/body.ts'
import { createByteBudget } from '../../../server/http/body/byte-budget.ts'
import { letArrive, pauseFor, quietFor, takes } from '../../harness/waits.ts'
import { type Gateway, KEY, type Parts, startGateway, startSlow } from '../gateway.ts'
import { RATE } from '../memory-services.ts'
import { firstResponse, MAIL, open, receive, send } from '../requests.ts'

const stays = () => new AbortController().signal

test('shares are given in the order of the requests for them, a large one before a later small one', async () => {
  const { take, inUse } = createByteBudget({ totalBytes: 100, waitMs: 1_000 })
  const order: string[] = []
  const note = (name: string, bytes: number) =>
    take(bytes, name, stays()).then((release) => {
      order.push(name)
      return release
    })
  const first = await note('first', 60)
  const large = note('large', 90)
  const small = note('small', 10)
  await quietFor(10)
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
  const release = await take(1_000, 'a', stays())
  expect(inUse()).toBe(100)
  release()
})

test('a request that waits too long fails because of overload, and the next one passes', async () => {
  const { take } = createByteBudget({ totalBytes: 100, waitMs: 100 })
  await take(60, 'a', stays())
  const late = take(60, 'b', stays()).catch((error) => error)
  const small = take(30, 'c', stays())
  const error = await late
  expect([reasonOf(error), error.message]).toEqual(['transient_failure', expect.stringContaining('overloaded')])
  await small
})

test('a caller that leaves while it waits takes nothing', async () => {
  const { take, inUse } = createByteBudget({ totalBytes: 100, waitMs: 1_000 })
  const release = await take(100, 'a', stays())
  const leaver = new AbortController()
  const left = take(100, 'b', leaver.signal)
  const next = take(50, 'c', stays())
  leaver.abort(new Error('left'))
  await expect(left).rejects.toThrow('left')
  await expect(take(1, 'd', leaver.signal)).rejects.toThrow('left')
  release()
  await next
  expect(inUse()).toBe(50)
})

test('no more is given than the budget holds, and all of it is returned, in any order of events', async () => {
  const step = fc.record({
    holder: fc.constantFrom('a', 'b', 'c'),
    bytes: fc.integer({ min: 1, max: 150 }),
    holdMs: fc.nat(3),
    leaveMs: fc.option(fc.nat(3)),
    keptBytes: fc.nat(150),
    waits: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { take, tryTake, inUse } = createByteBudget({ totalBytes: 100, waitMs: 5 })
      const run = async ({ holder, bytes, holdMs, leaveMs, keptBytes, waits }: (typeof steps)[number]) => {
        const leaver = new AbortController()
        if (leaveMs !== null) setTimeout(() => leaver.abort(), leaveMs)
        const release = waits ? await take(bytes, holder, leaver.signal).catch(() => undefined) : tryTake(bytes, holder)
        expect(inUse()).toBeLessThanOrEqual(100)
        await takes(holdMs)
        release?.(keptBytes)
        await takes(holdMs)
        release?.()
      }
      await Promise.all(steps.map(run))
      expect(inUse()).toBe(0)
    }),
    { numRuns: 30 },
  )
})

/** A gateway with room for one large body at a time, whose sends last until `letGo`. */
const startNarrow = (parts: Parts = {}) =>
  startSlow({ limits: { budgetBytes: 200_000 * SHARE_FACTOR, budgetWaitMs: 300 }, ...parts })

const LARGE = { ...MAIL, html: 'x'.repeat(150_000) }
const SENDS: Record<string, (gateway: Gateway, signal?: AbortSignal) => Promise<unknown>> = {
  REST: ({ url }, signal) => rest(url, { body: JSON.stringify(LARGE), signal }),
  'REST in chunks': ({ url }, signal) =>
    rest(url, { body: new Blob([JSON.stringify(LARGE)]).stream(), duplex: 'half', signal }),
  Connect: ({ url }, signal) => rpc(createConnectTransport({ baseUrl: url, httpVersion: '1.1' }), signal),
  gRPC: ({ url }, signal) => rpc(createGrpcTransport({ baseUrl: url }), signal),
}

/** Fetch needs `duplex` for a body in chunks, and its type lacks it. */
async function rest(url: string, init: RequestInit & { duplex?: 'half' }) {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/api/v1/emails/send`, { method: 'POST', headers, ...init })
  return response.ok ? 'ok' : ((await response.json()) as { error: string }).error
}

const rpc = (transport: ReturnType<typeof createGrpcTransport>, signal?: AbortSignal) =>
  createClient(EmailService, transport)
    .send({ ...LARGE, to: [LARGE.to] }, { headers: { authorization: `Bearer ${KEY}` }, signal })
    .then(() => 'ok', reasonOf)

test.for(Object.entries(SENDS))('%s: a body that gets no share in time is a transient_failure', async ([, post]) => {
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

test('gRPC: a body larger than its stated size takes no share beyond that size', async () => {
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

test('a share is returned when the response is ready, however slowly the caller reads it', async () => {
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

test('callers that leave return their shares, while they wait, send or read', async () => {
  await using gateway = await startNarrow({ limits: { budgetBytes: 200_000 * SHARE_FACTOR, budgetWaitMs: 5_000 } })
  const text = JSON.stringify(LARGE)
  const head = `POST /api/v1/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: ${text.length}\r\n\r\n`
  const leavers = []
  for (const written of [head + text, head, head + text.slice(0, 70_000), head]) {
    const socket = await open(gateway.port)
    socket.write(written)
    leavers.push(socket)
    await letArrive(30)
  }
  for (const socket of leavers) socket.destroy()
  gateway.letGo()
  await expect.poll(() => gateway.app.inFlight.size, { timeout: 5_000 }).toBe(0)
  const socket = await open(gateway.port)
  socket.write(head + text)
  expect(firstResponse(await receive(socket)).status).toBe(200)
})

test.for(Object.entries(SENDS))(
  '%s: a share is held until the work on the message ends, even when the caller has left',
  async ([, post]) => {
    await using gateway = await startNarrow()
    const leaving = new AbortController()
    const left = Promise.resolve(post(gateway, leaving.signal)).catch(() => 'left')
    await expect.poll(() => gateway.sent.length).toBe(1)
    leaving.abort()
    await left
    await expect.poll(() => gateway.app.inFlight.size).toBe(0)
    expect((await send(gateway.url, LARGE)).json.error).toBe('transient_failure')
    gateway.letGo()
    expect((await send(gateway.url, LARGE)).status).toBe(200)
  },
)

test('one holder leaves a part for the next one, and others pass its waiting requests', async () => {
  const { take, inUse } = createByteBudget({ totalBytes: 256, waitMs: 10_000 })
  const leaver = new AbortController()
  const greedy = Array.from({ length: 20 }, () => take(30, 'greedy', leaver.signal))
  for (const one of greedy) one.catch(() => {})
  expect(inUse()).toBe(150)
  const others = await Promise.all([take(30, 'b', stays()), take(30, 'c', stays())])
  expect(inUse()).toBe(210)
  // Its returned places go to the requests that have waited longest.
  const [release] = await Promise.all(greedy.slice(0, 5))
  release!()
  expect(inUse()).toBe(180)
  for (const give of others) give()
  await greedy[5]
  expect(inUse()).toBe(150)
  leaver.abort()
})

test('the first share of a holder needs only room, and is not overtaken while it waits for it', async () => {
  const { take, inUse } = createByteBudget({ totalBytes: 100, waitMs: 1_000 })
  const release = await take(60, 'a', stays())
  const large = take(90, 'b', stays())
  const small = take(10, 'c', stays())
  await quietFor(10)
  expect(inUse()).toBe(60)
  release()
  await Promise.all([large, small])
  expect(inUse()).toBe(100)
})

test('a share is taken without a wait where one would not have waited, and overtakes no other', async () => {
  const { take, tryTake } = createByteBudget({ totalBytes: 100, waitMs: 1_000 })
  const release = tryTake(60, 'a')!
  expect(tryTake(30, 'a')).toBeUndefined()
  const large = take(90, 'b', stays())
  expect(tryTake(10, 'c')).toBeUndefined()
  release()
  await large
  expect(tryTake(10, 'c')).toBeDefined()
})

/** Each key is an account. */
const anyKey: KeyGate = async ({ authorization, tellRate }) => {
  tellRate(RATE)
  return { accountId: authorization!, keyId: 'key_1', test: true }
}

const SMALL: Record<string, (gateway: Gateway, key: string) => Promise<unknown>> = {
  REST: ({ url }, authorization) => {
    const headers = { authorization, 'content-type': 'application/json' }
    return fetch(`${url}/api/v1/emails/send`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ ...MAIL, subject: authorization }),
    })
  },
  Connect: ({ url }, key) => small(createConnectTransport({ baseUrl: url, httpVersion: '1.1' }), key),
  gRPC: ({ url }, key) => small(createGrpcTransport({ baseUrl: url }), key),
}
const small = (transport: ReturnType<typeof createGrpcTransport>, authorization: string) =>
  createClient(EmailService, transport).send(
    { ...MAIL, to: [MAIL.to], subject: authorization },
    { headers: { authorization } },
  )

test.for(Object.entries(SMALL))(
  '%s: small sends in flight of one account take two thirds of their memory, and another account still sends',
  async ([, post]) => {
    const places = 30
    await using gateway = await startSlow({
      limits: { smallBudgetBytes: places * LEAST_BYTES * SHARE_FACTOR, budgetWaitMs: 5_000 },
      gate: anyKey,
    })
    const many = Array.from({ length: places }, () => post(gateway, 'many'))
    const subjects = () => gateway.sent.map(({ subject }) => subject)
    await expect.poll(subjects).toContain('many')
    await quietFor(100)
    const other = post(gateway, 'other')
    await expect.poll(subjects).toContain('other')
    expect(subjects().filter((subject) => subject === 'many').length).toBeLessThanOrEqual(20)
    gateway.letGo()
    await Promise.all([...many, other])
    expect([gateway.sent.length, gateway.app.smallBodyBudget.inUse()]).toEqual([places + 1, 0])
  },
)

test.for(Object.entries(SMALL))(
  '%s: another account calls while a crowd of calls of one is at work',
  async ([, post]) => {
    await using gateway = await startSlow({ gate: anyKey })
    const crowd = Array.from({ length: 600 }, () => post(gateway, 'crowd'))
    await expect.poll(() => gateway.sent.length).toBeGreaterThan(100)
    const other = post(gateway, 'other')
    await expect.poll(() => gateway.sent.map(({ subject }) => subject), { interval: 5 }).toContain('other')
    expect(gateway.sent.length).toBeLessThan(600)
    gateway.letGo()
    await Promise.all([...crowd, other])
  },
)

const BIG_HEAD = (key: string) =>
  `POST /api/v1/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${14 * 2 ** 20}\r\n\r\n`

test('with 20 slow uploads of one account running, a send of 1 MB of another account starts within 1 s', async () => {
  await using gateway = await startGateway({ gate: anyKey })
  const slow = await Promise.all(Array.from({ length: 20 }, () => open(gateway.port)))
  for (const socket of slow) socket.write(`${BIG_HEAD('slow')}{`)
  const drip = setInterval(() => slow.map((socket) => socket.write(' '.repeat(1_000))), 100)
  await expect.poll(() => gateway.app.inFlight.size).toBe(20)
  const beganMs = performance.now()
  const large = send(gateway.url, { ...MAIL, html: 'x'.repeat(1_000_000) })
  await expect.poll(() => gateway.sent.length, { timeout: 20_000, interval: 5 }).toBe(1)
  const startedMs = performance.now() - beganMs
  // The time of such a send without the slow uploads is the machine's own.
  const alone = performance.now()
  expect((await large).status).toBe(200)
  expect((await send(gateway.url, { ...MAIL, html: 'x'.repeat(1_000_000) })).status).toBe(200)
  // The promised second, and the time of such a send alone.
  expect(startedMs).toBeLessThan(1_000 + performance.now() - alone)
  clearInterval(drip)
  for (const socket of slow) socket.destroy()
})

test('a large body that arrives too slowly is refused, and its share is returned', async () => {
  const bodyPace = { bytesPerSecond: 64 * 1_024, afterMs: 500 }
  await using gateway = await startNarrow({
    limits: { budgetBytes: 200_000 * SHARE_FACTOR, budgetWaitMs: 5_000, bodyPace },
  })
  gateway.letGo()
  const socket = await open(gateway.port)
  socket.write(`${BIG_HEAD(KEY)}{`)
  const drip = setInterval(() => socket.write(' '.repeat(100)), 100)
  const waiting = send(gateway.url, LARGE)
  const { status, json } = firstResponse(await receive(socket, 4_000))
  clearInterval(drip)
  expect([status, json.message]).toEqual([400, expect.stringContaining('too slowly')])
  expect((await waiting).status).toBe(200)
})

test('a large body that keeps the pace is read, however long it takes', async () => {
  const bodyPace = { bytesPerSecond: 64 * 1_024, afterMs: 200 }
  await using gateway = await startGateway({ limits: { bodyPace } })
  const text = JSON.stringify({ ...MAIL, html: 'x'.repeat(600_000) })
  const socket = await open(gateway.port)
  socket.write(BIG_HEAD(KEY).replace(/\d+\r\n\r\n$/, `${text.length}\r\n\r\n`))
  for (let at = 0; at < text.length; at += 20_000) {
    socket.write(text.slice(at, at + 20_000))
    await pauseFor(20)
  }
  expect(firstResponse(await receive(socket, 4_000)).status).toBe(200)
})
