import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { BODY, newAccountPost, newPost, newReceiver, undo } from './posting.ts'

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
  const slow = newAccountPost({ lookup: () => new Promise(() => {}) })
  const early = slow('https://hooks.example.com/', dialling.signal)
  dialling.abort(new Error('shutting down'))
  await expect(early).rejects.toThrow('shutting down')
})
