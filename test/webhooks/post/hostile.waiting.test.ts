import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'vitest'
import { createPost, type PostResult } from '../../../server/webhooks/post/post.ts'
import { RECEIVER_AUTHORITY } from '../../harness/certificates.ts'
import { type ScriptedResponse, startReceiver } from '../../harness/receiver.ts'
import { startSilentPort } from '../../harness/silent-port.ts'
import { stopwatch } from '../../harness/stopwatch.ts'

// What receivers do to us, each bounded in time. All of them run at once: a receiver that hangs delays no other.

/** Limits for receivers that exceed one. */
const LIMITS = { slotMs: 1_000, totalMs: 8_000, connectMs: 2_500, headMs: 3_000, bodyMs: 1_000 }
/** Limits for receivers whose response ends the POST: a busy machine does not exceed them. */
const PATIENT = { slotMs: 30_000, totalMs: 30_000, connectMs: 30_000, headMs: 30_000, bodyMs: 30_000 }
const MARGIN_MS = 1_500

type Receiving = (url: string, headers: Record<string, string>, body: Buffer) => Promise<PostResult>

function posting(limits?: typeof LIMITS) {
  const { post, close } = createPost({
    allowSubnets: ['127.0.0.0/8'],
    lookup: async () => ['127.0.0.1'],
    ca: RECEIVER_AUTHORITY,
    limits,
  })
  const postForAccount: Receiving = async (url, headers, body) =>
    (await post(url, headers, body, { accountId: 'account' }))!
  return { post: postForAccount, close }
}

// The longest test comes first.
test.concurrent('by default a receiver has 5 s for its head and 1 s for its body, and a connection 3 s', async ({
  expect,
}) => {
  const [hanging, dripping] = await Promise.all([startReceiver(), startReceiver()])
  hanging.script = { fault: 'hang' }
  dripping.script = { fault: 'drip_body', status: 500 }
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { post, close } = posting()
  const timed = async (url: string) => {
    const watch = stopwatch()
    const startedMs = performance.now()
    const { outcome } = await post(url, {}, Buffer.from('{}'))
    return { outcome, atLeastMs: performance.now() - startedMs, atMostMs: watch.ms() }
  }
  const handshake = `https://127.0.0.1:${(silent.address() as AddressInfo).port}/`
  const all = await Promise.all([timed(hanging.url), timed(dripping.url), timed(handshake)])
  const expected: [outcome: string, ms: number][] = [
    ['timeout_head', 5_000],
    ['timeout_body', 1_000],
    ['tls', 3_000],
  ]
  for (const [index, [outcome, ms]] of expected.entries()) {
    expect(all[index]!.outcome).toBe(outcome)
    expect(all[index]!.atLeastMs).toBeGreaterThan(ms - 10)
    expect(all[index]!.atMostMs).toBeLessThan(ms + MARGIN_MS)
  }
  silent.close()
  await close()
  await Promise.all([hanging.close(), dripping.close()])
})

const HOSTILE: [what: string, response: ScriptedResponse, expected: Partial<PostResult>, atMostMs: number][] = [
  ['hangs', { fault: 'hang' }, { outcome: 'timeout_head' }, LIMITS.headMs],
  ['drips its head', { fault: 'drip_head' }, { outcome: 'timeout_head' }, LIMITS.headMs],
  ['never ends its interim responses', { fault: 'endless_interim' }, { outcome: 'connect' }, 0],
  ['closes without a response', { fault: 'close' }, { outcome: 'connect' }, 0],
  ['resets', { fault: 'reset' }, { outcome: 'connect' }, 0],
  ['answers garbage', { fault: 'garbage' }, { outcome: 'connect' }, 0],
  ['never ends its headers', { fault: 'huge_head' }, { outcome: 'connect' }, 0],
  ['drips a body after 200', { fault: 'drip_body' }, { outcome: 'acked', statusCode: 200 }, LIMITS.bodyMs],
  [
    'drips a body after 202',
    { fault: 'drip_body', status: 202 },
    { outcome: 'success_but_not_200', statusCode: 202 },
    LIMITS.bodyMs,
  ],
  [
    'drips a body after 500',
    { fault: 'drip_body', status: 500 },
    { outcome: 'timeout_body', statusCode: 500 },
    LIMITS.bodyMs,
  ],
  [
    'never ends a body after 200',
    { fault: 'endless_body' },
    { outcome: 'acked', statusCode: 200, excerptCut: true },
    0,
  ],
  ['never ends a body after 410', { fault: 'endless_body', status: 410 }, { outcome: 'not_200', statusCode: 410 }, 0],
  [
    'breaks its body off after 200',
    { fault: 'short_body' },
    { outcome: 'acked', excerpt: 'short', excerptCut: true },
    0,
  ],
  ['breaks its body off after 503', { fault: 'short_body', status: 503 }, { outcome: 'not_200', statusCode: 503 }, 0],
  ['answers late, but in time', { delayMs: 1_000 }, { outcome: 'acked', statusCode: 200 }, 1_000],
]

test.concurrent.for(HOSTILE)(
  'a receiver that %s is bounded in time',
  async ([, response, expected, atMostMs], { expect }) => {
    for (const tls of [false, true]) {
      const receiver = await startReceiver({ tls })
      receiver.script = response
      const { post, close } = posting(atMostMs === 0 ? PATIENT : LIMITS)
      const watch = stopwatch()
      const result = await post(receiver.url, {}, Buffer.from('{}'))
      expect(watch.ms()).toBeLessThan(atMostMs + MARGIN_MS)
      expect(result).toMatchObject(expected)
      if (expected.statusCode === undefined && expected.outcome !== 'acked') expect(result.statusCode).toBeUndefined()
      expect(JSON.stringify(result)).not.toContain('127.0.0.1')
      await close()
      await receiver.close()
    }
  },
)

test.concurrent('a receiver that speaks no TLS, or nothing at all, is tls', async ({ expect }) => {
  const garbage = await startReceiver({ tls: 'broken' })
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { post, close } = posting(LIMITS)
  const at = (port: number) => post(`https://127.0.0.1:${port}/`, {}, Buffer.from('{}'))
  const watch = stopwatch()
  const results = await Promise.all([at(garbage.port), at((silent.address() as AddressInfo).port)])
  expect(results.map(({ outcome }) => outcome)).toEqual(['tls', 'tls'])
  expect(watch.ms()).toBeLessThan(LIMITS.connectMs + MARGIN_MS)
  silent.close()
  await close()
  await garbage.close()
})

test.concurrent('a host that refuses, or neither accepts nor refuses, is connect', async ({ expect }) => {
  const silent = await startSilentPort()
  const closed = await startReceiver()
  await closed.close()
  const { post, close } = posting(LIMITS)
  const watch = stopwatch()
  const urls = [closed.url, `http://${silent.host}:${silent.port}/`]
  const results = await Promise.all(urls.map((url) => post(url, {}, Buffer.from('{}'))))
  const failed = { outcome: 'connect', phases: { connect: expect.any(Number) } }
  expect(results).toEqual([
    { ...failed, code: 'ECONNREFUSED' },
    { ...failed, code: 'connect_timeout' },
  ])
  expect(watch.ms()).toBeLessThan(LIMITS.connectMs + MARGIN_MS)
  await close()
  silent.close()
})

test.concurrent('512 idle connections to very many origins stay open, for four seconds', async ({ expect }) => {
  const receiver = await startReceiver()
  const { post, close } = posting()
  const urls = Array.from({ length: 600 }, (_, i) => `http://hooks-${i}.example.com:${receiver.port}/`)
  const results = await Promise.all(urls.map((url) => post(url, {}, Buffer.from('{}'))))
  expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['acked']))
  const open = () => receiver.requests.filter(({ socket }) => !socket.destroyed).length
  await expect.poll(open).toBe(512)
  await expect.poll(open).toBe(0)
  await close()
  await receiver.close()
})

test.concurrent('100 hanging receivers delay no other receiver', async ({ expect }) => {
  const hanging = await Promise.all(Array.from({ length: 10 }, () => startReceiver()))
  for (const receiver of hanging) receiver.script = { fault: 'hang' }
  const good = await startReceiver()
  const { post, close } = posting()
  const lost = hanging.flatMap(({ url }) => Array.from({ length: 10 }, () => post(url, {}, Buffer.from('{}'))))
  let settled = 0
  for (const post of lost) post.then(() => settled++)
  for (let i = 0; i < 20; i++) expect(await post(good.url, {}, Buffer.from('{}'))).toMatchObject({ outcome: 'acked' })
  expect(settled).toBe(0)
  expect(new Set((await Promise.all(lost)).map(({ outcome }) => outcome))).toEqual(new Set(['timeout_head']))
  await close()
  await Promise.all([good, ...hanging].map((receiver) => receiver.close()))
})
