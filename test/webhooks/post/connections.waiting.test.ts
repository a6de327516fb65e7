import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import type { Connection } from '../../../server/webhooks/post/connections.ts'
import { createPost } from '../../../server/webhooks/post/post.ts'
import { farClock } from '../../harness/far-clock.ts'
import { outlast } from '../../harness/waits.ts'
import { BODY, newAccountPost, newConnections, newPost, newReceiver, undo } from './posting.ts'

afterEach(undo)

test('a connection stays open after a response of up to 64 KiB; a longer response ends it', async () => {
  const receiver = await newReceiver()
  const post = newAccountPost()
  receiver.script = { body: Buffer.alloc(64 * 1_024, 'a') }
  for (let i = 0; i < 3; i++) expect(await post(receiver.url)).toMatchObject({ outcome: 'acked', excerptCut: true })
  expect(receiver.connections).toBe(1)
  receiver.script = { body: Buffer.alloc(64 * 1_024 + 1, 'a') }
  for (let i = 0; i < 3; i++) expect(await post(receiver.url)).toMatchObject({ outcome: 'acked', excerptCut: true })
  expect(receiver.connections).toBe(3)
})

test('one account has at most 64 connections to an origin, and its POSTs beyond wait for one of them', async () => {
  const receiver = await newReceiver()
  const post = newAccountPost({ limits: { slotMs: 10_000 } })
  receiver.script = { delayMs: 50 }
  const results = await Promise.all(Array.from({ length: 200 }, () => post(receiver.url)))
  expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['acked']))
  expect([receiver.requests.length, receiver.connections]).toEqual([200, 64])
})

test('accounts whose POSTs hang at an origin leave slots for other accounts, whose POSTs do not wait', async () => {
  const receiver = await newReceiver()
  const post = newPost({ limits: { slotMs: 10_000 } })
  const caller = new AbortController()
  receiver.script = ({ path }) => (path === '/hang' ? { fault: 'hang' } : {})
  const hang = (accountId: string) =>
    post(new URL('/hang', receiver.url).href, {}, BODY, { accountId, signal: caller.signal }).catch(() => 'left')
  const hanging = ['one', 'two', 'three', 'four'].flatMap((account) => Array.from({ length: 100 }, () => hang(account)))
  await expect.poll(() => receiver.requests.length).toBeGreaterThan(64)
  for (let i = 0; i < 50; i++)
    expect(await post(receiver.url, {}, BODY, { accountId: 'victim' })).toMatchObject({ outcome: 'acked' })
  caller.abort()
  expect(new Set(await Promise.all(hanging))).toEqual(new Set(['left']))
})

test('a POST that gets no slot at its origin in time is not made, and does not count as failed', async () => {
  const receiver = await newReceiver()
  const post = newPost({ limits: { slotMs: 100 } })
  const response = Promise.withResolvers<object>()
  receiver.script = () => response.promise
  const all = Array.from({ length: 65 }, () => post(receiver.url, {}, BODY, { accountId: 'account' }))
  expect(await all.at(-1)).toBeUndefined()
  await expect.poll(() => receiver.requests.length).toBe(64)
  response.resolve({})
  expect((await Promise.all(all)).filter((result) => result?.outcome === 'acked')).toHaveLength(64)
  expect(await post(receiver.url, {}, BODY, { accountId: 'account' })).toMatchObject({ outcome: 'acked' })
})

test.each([false, true])('an idle connection that the receiver has closed costs no attempt (TLS: %s)', async (tls) => {
  const receiver = await newReceiver({ tls })
  const post = newAccountPost()
  await Promise.all([post(receiver.url), post(receiver.url), post(receiver.url)])
  receiver.cut()
  const results = await Promise.all([post(receiver.url), post(receiver.url), post(receiver.url)])
  expect(results.map(({ outcome }) => outcome)).toEqual(['acked', 'acked', 'acked'])
})

test('an idle connection that was closed after four seconds costs no attempt', async () => {
  const receiver = await newReceiver()
  const post = newAccountPost()
  expect(await post(receiver.url)).toMatchObject({ outcome: 'acked' })
  const { socket } = receiver.requests[0]!
  if (!socket.destroyed) await once(socket, 'close')
  expect(await post(receiver.url)).toMatchObject({ outcome: 'acked' })
  expect([receiver.requests.length, receiver.connections]).toEqual([2, 2])
})

test.each([false, true])(
  'only a POST whose idle connection ends without an octet of a response is made once more (TLS: %s)',
  async (tls) => {
    const receiver = await newReceiver({ tls })
    const post = newAccountPost()
    expect(await post(receiver.url)).toMatchObject({ outcome: 'acked' })
    receiver.script = { fault: 'close' }
    expect(await post(receiver.url)).toMatchObject({ outcome: 'connect' })
    expect(receiver.requests).toHaveLength(3)
    expect(await post(receiver.url)).toMatchObject({ outcome: 'connect' })
    expect(receiver.requests).toHaveLength(4)
    receiver.script = {}
    expect(await post(receiver.url)).toMatchObject({ outcome: 'acked' })
    receiver.script = { fault: 'garbage' }
    expect(await post(receiver.url)).toMatchObject({ outcome: 'connect' })
    expect(receiver.requests).toHaveLength(6)
  },
)

test('a receiver that keeps no connection gets a new one for each POST', async () => {
  const receiver = await newReceiver()
  receiver.script = { headers: { connection: 'close' } }
  const post = newAccountPost()
  for (let i = 0; i < 3; i++) expect(await post(receiver.url)).toMatchObject({ outcome: 'acked' })
  expect(receiver.connections).toBe(3)
})

test('a connection older than a minute is closed after its exchange', async () => {
  const receiver = await newReceiver()
  const post = newAccountPost()
  const { advance } = farClock()
  const connectionsAfter = async (ms: number) => {
    advance(ms)
    expect(await post(receiver.url)).toMatchObject({ outcome: 'acked' })
    return receiver.connections
  }
  expect([await connectionsAfter(0), await connectionsAfter(50_000), await connectionsAfter(10_001)]).toEqual([1, 1, 1])
  expect(await connectionsAfter(0)).toBe(2)
})

test('an aborted POST rejects at once with the reason, and its connection is closed', async () => {
  const receiver = await newReceiver()
  receiver.script = { fault: 'hang' }
  const post = newAccountPost()
  const caller = new AbortController()
  const result = post(receiver.url, caller.signal)
  await expect.poll(() => receiver.requests.length).toBe(1)
  const closed = once(receiver.requests[0]!.socket, 'close')
  caller.abort(new Error('shutting down'))
  await expect(result).rejects.toThrow('shutting down')
  await closed
  await expect(post(receiver.url, caller.signal)).rejects.toThrow('shutting down')
  const dialling = new AbortController()
  const asked = Promise.withResolvers<void>()
  const lookup = () => {
    asked.resolve()
    return new Promise<string[]>(() => {})
  }
  const slow = newAccountPost({ lookup, limits: { connectMs: 600_000, totalMs: 600_000 } })
  const early = slow('https://hooks.example.com/', dialling.signal)
  await asked.promise
  dialling.abort(new Error('shutting down'))
  await expect(early).rejects.toThrow('shutting down')
})

test('neither a late abort nor the time for a body touches the connection of a POST that has ended', async () => {
  const receiver = await newReceiver()
  const post = newAccountPost({ limits: { headMs: 3_000, bodyMs: 300 } })
  const caller = new AbortController()
  expect(await post(receiver.url, caller.signal)).toMatchObject({ outcome: 'acked' })
  caller.abort()
  // The time for the body.
  await outlast(400)
  expect(await post(receiver.url)).toMatchObject({ outcome: 'acked' })
  expect(receiver.connections).toBe(1)
})

test('a receiver that is silent on an idle connection does not get the POST once more', async () => {
  const receiver = await newReceiver()
  const post = newAccountPost({ limits: { headMs: 500 } })
  expect(await post(receiver.url)).toMatchObject({ outcome: 'acked' })
  receiver.script = { fault: 'hang' }
  expect(await post(receiver.url)).toMatchObject({ outcome: 'timeout_head' })
  expect(receiver.requests).toHaveLength(2)
})

test('of the idle connections 512 are kept, the newest, until they are closed', async () => {
  const receiver = await newReceiver()
  const { connections, open } = newConnections()
  const opened: Connection[] = []
  for (let i = 0; i < 514; i++) opened.push(await open(`http://hooks-${i}.example.com:${receiver.port}/`))
  for (const connection of opened) connections.release(connection)
  const destroyed = () => opened.flatMap(({ socket }, i) => (socket.destroyed ? [i] : []))
  expect(destroyed()).toEqual([0, 1])
  const third = opened[2]
  expect(connections.takeIdle(third!.origin)).toBe(third)
  expect(connections.takeIdle(third!.origin)).toBeUndefined()
  connections.close()
  // The one that is in use stays open.
  expect(destroyed()).toEqual([...opened.keys()].filter((i) => i !== 2))
  third!.socket.destroy()
})

test('a connection that its receiver has closed is idle no longer', async () => {
  const receiver = await newReceiver()
  const { connections, open } = newConnections()
  const connection = await open(receiver.url)
  connections.release(connection)
  const closed = new Promise((resolve) => connection.socket.once('close', resolve))
  await expect.poll(() => receiver.connections).toBe(1)
  receiver.cut()
  await closed
  expect(connections.takeIdle(connection.origin)).toBeUndefined()
})

test('a service that ends closes its idle connections', async () => {
  const receiver = await newReceiver()
  const { post, close } = createPost({ allowSubnets: ['127.0.0.1/32'], lookup: async () => ['127.0.0.1'] })
  expect(await post(receiver.url, {}, BODY, { accountId: 'account' })).toMatchObject({ outcome: 'acked' })
  const closed = once(receiver.requests[0]!.socket, 'close')
  await close()
  await closed
})
