import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { afterEach, expect, test, vi } from 'vitest'
import { excerptOf } from '../../server/webhooks/excerpt.ts'
import { lookupWith } from '../../server/webhooks/lookup.ts'
import { createPost } from '../../server/webhooks/post.ts'
import { newSecret, signedHeaders } from '../../server/webhooks/signature.ts'
import { CERTIFICATE, RECEIVER_AUTHORITY } from '../harness/certificates.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'

const BODY = Buffer.from('{"event":"email.delivery","status":"bounced"}')
const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function receiving(options?: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
  const receiver = await startReceiver(options)
  ends.push(receiver.close)
  return receiver
}

type Options = Partial<Parameters<typeof createPost>[0]>

function posting(options: Options = {}) {
  const lookup = async () => ['127.0.0.1']
  const made = createPost({ allowSubnets: ['127.0.0.1/32'], lookup, ca: RECEIVER_AUTHORITY, ...options })
  ends.push(made.close)
  return (url: string, signal?: AbortSignal, headers = {}) => made.post(url, headers, BODY, signal)
}

test('a receiver gets the signed headers and exactly the bytes that were signed', async () => {
  const receiver = await receiving({ tls: true })
  const post = posting()
  const secret = newSecret()
  const ids = { eventId: 'evt_01h455vb4pex5vsknk084sn02q', dispatchId: 'dsp_01h455vb4pex5vsknk084sn02r' }
  const timestamp = Math.floor(Date.now() / 1_000)
  const headers = signedHeaders({ ...ids, body: BODY, attempt: 2, timestamp, secret })
  expect(await post(`${receiver.url}/a?b=c`, undefined, headers)).toMatchObject({ outcome: 'acked', statusCode: 200 })
  const [request] = receiver.requests
  expect(request).toMatchObject({ method: 'POST', path: '/hook/a?b=c', body: BODY })
  expect(request!.headers).toMatchObject({
    host: `127.0.0.1:${receiver.port}`,
    'content-type': 'application/json',
    'content-length': String(BODY.length),
    'accept-encoding': 'identity',
    'user-agent': 'Verdict',
    'service-attempt': '2',
  })
  expect(new Webhook(secret).verify(request!.body, request!.headers)).toMatchObject({ status: 'bounced' })
})

test.each([
  [200, 'acked'],
  [201, 'success_but_not_200'],
  [202, 'success_but_not_200'],
  [204, 'success_but_not_200'],
  [206, 'success_but_not_200'],
  [304, 'not_200'],
  [400, 'not_200'],
  [401, 'not_200'],
  [404, 'not_200'],
  [410, 'not_200'],
  [429, 'not_200'],
  [500, 'not_200'],
  [503, 'not_200'],
  [599, 'not_200'],
  [999, 'not_200'],
])('status %i is %s', async (status, outcome) => {
  const receiver = await receiving()
  receiver.script = { status }
  expect(await posting()(receiver.url)).toMatchObject({ outcome, statusCode: status })
})

test.each([301, 302, 303, 307, 308])('a redirect (%i) is a failure and is not followed', async (status) => {
  const receiver = await receiving()
  const elsewhere = await receiving()
  receiver.script = { status, headers: { location: elsewhere.url } }
  expect(await posting()(receiver.url)).toMatchObject({ outcome: 'not_200', statusCode: status })
  expect([receiver.requests.length, elsewhere.connections]).toEqual([1, 0])
})

test('the phases of a first POST are all told, those of one on a kept connection are head and body', async () => {
  const receiver = await receiving({ tls: true })
  const url = receiver.url.replace('127.0.0.1', 'receiver.example.test')
  const post = posting()
  const first = await post(url)
  expect(Object.keys(first.phases)).toEqual(['dns', 'connect', 'tls', 'head', 'body'])
  receiver.script = { delayMs: 120 }
  const second = await post(url)
  expect(Object.keys(second.phases)).toEqual(['head', 'body'])
  expect(second.phases.head).toBeGreaterThanOrEqual(119)
  expect(receiver.connections).toBe(1)
})

test('the answer is kept as an excerpt of 1,024 octets, flagged when it was cut', async () => {
  const receiver = await receiving()
  const post = posting()
  receiver.script = { status: 500, body: 'out of order' }
  expect(await post(receiver.url)).toMatchObject({ excerpt: 'out of order', excerptCut: false })
  receiver.script = { status: 500, body: 'x'.repeat(1_024) }
  expect(await post(receiver.url)).toMatchObject({ excerpt: 'x'.repeat(1_024), excerptCut: false })
  receiver.script = { status: 500, body: 'x'.repeat(1_025) }
  expect(await post(receiver.url)).toMatchObject({ excerpt: 'x'.repeat(1_024), excerptCut: true })
  receiver.script = { status: 500, body: `${'x'.repeat(1_023)}é` }
  expect(await post(receiver.url)).toMatchObject({ excerpt: 'x'.repeat(1_023), excerptCut: true })
  receiver.script = { status: 500 }
  expect(await post(receiver.url)).not.toHaveProperty('excerpt')
  expect(receiver.connections).toBe(1)
})

test('an excerpt can be stored and shown: valid UTF-8 without control characters, whatever came', () => {
  const shown = (octets: Buffer | string) => excerptOf(Buffer.from(octets as string), false)
  expect(shown('a\u0000b\u001b[31mc\r\nd\te')).toBe('a\uFFFDb\uFFFD[31mc\nd\te')
  expect(shown('\u202eabc\u2028\u0085')).toBe('\uFFFDabc\uFFFD\uFFFD')
  expect(shown(Buffer.from([0xc3, 0x28, 0xff]))).toBe('\uFFFD(\uFFFD')
  expect(shown('größe 😀')).toBe('größe 😀')
  fc.assert(
    fc.property(fc.uint8Array(), fc.boolean(), (octets, isCut) => {
      const text = excerptOf(Buffer.from(octets), isCut) ?? ''
      expect(text.isWellFormed()).toBe(true)
      expect(text).not.toMatch(/[^\P{Cc}\n\t]/u)
    }),
  )
})

test('64 KiB of an answer are read on a connection that stays, more ends it', async () => {
  const receiver = await receiving()
  const post = posting()
  receiver.script = { body: Buffer.alloc(64 * 1_024, 'a') }
  for (let i = 0; i < 3; i++) expect(await post(receiver.url)).toMatchObject({ outcome: 'acked', excerptCut: true })
  expect(receiver.connections).toBe(1)
  receiver.script = { body: Buffer.alloc(64 * 1_024 + 1, 'a') }
  for (let i = 0; i < 3; i++) expect(await post(receiver.url)).toMatchObject({ outcome: 'acked', excerptCut: true })
  expect(receiver.connections).toBe(3)
})

test('at most 64 connections lead to one origin, and the POSTs beyond wait for one of them', async () => {
  const receiver = await receiving()
  const post = posting()
  receiver.script = { delayMs: 50 }
  const posted = await Promise.all(Array.from({ length: 200 }, () => post(receiver.url)))
  expect(new Set(posted.map(({ outcome }) => outcome))).toEqual(new Set(['acked']))
  expect([receiver.requests.length, receiver.connections]).toEqual([200, 64])
})

test('whoever gets no connection in time has failed to connect, and the connection goes on to others', async () => {
  const receiver = await receiving()
  const post = posting({ limits: { totalMs: 2_000, connectMs: 150, headMs: 1_000 } })
  receiver.script = { delayMs: 500 }
  const all = Array.from({ length: 65 }, () => post(receiver.url))
  expect(await all.at(-1)).toEqual({ outcome: 'connect', phases: {} })
  expect((await Promise.all(all)).filter(({ outcome }) => outcome === 'acked')).toHaveLength(64)
  receiver.script = {}
  expect(await post(receiver.url)).toMatchObject({ outcome: 'acked' })
})

test.each([false, true])('a kept connection that the receiver has closed costs no attempt (TLS: %s)', async (tls) => {
  const receiver = await receiving({ tls })
  const post = posting()
  await Promise.all([post(receiver.url), post(receiver.url), post(receiver.url)])
  receiver.cut()
  const posted = await Promise.all([post(receiver.url), post(receiver.url), post(receiver.url)])
  expect(posted.map(({ outcome }) => outcome)).toEqual(['acked', 'acked', 'acked'])
})

test.each([false, true])(
  'what a kept connection leaves without an octet of an answer is posted once more, and nothing else (TLS: %s)',
  async (tls) => {
    const receiver = await receiving({ tls })
    const post = posting()
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

test('an interim answer is none, the one after it counts', async () => {
  const server = createServer((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\nthanks'))
  })
  await listening(server)
  const { port } = server.address() as AddressInfo
  expect(await posting()(`http://127.0.0.1:${port}/`)).toMatchObject({
    outcome: 'acked',
    excerpt: 'thanks',
    excerptCut: false,
  })
})

test('a receiver that keeps no connection gets a new one for each POST', async () => {
  const receiver = await receiving()
  receiver.script = { headers: { connection: 'close' } }
  const post = posting()
  for (let i = 0; i < 3; i++) expect(await post(receiver.url)).toMatchObject({ outcome: 'acked' })
  expect(receiver.connections).toBe(3)
})

test('every new connection looks the name up again, and dials what that look-up said', async () => {
  const receiver = await receiving()
  receiver.script = { headers: { connection: 'close' } }
  const inside = await counting(receiver.port)
  const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1'], ['127.0.0.2', '127.0.0.1'], ['127.0.0.1', '127.0.0.2']]
  const asked: string[] = []
  const lookup = async (name: string) => {
    asked.push(name)
    return answers.shift()!
  }
  const post = posting({ lookup })
  const outcomes = []
  for (let i = 0; i < 5; i++) outcomes.push((await post(`http://hooks.example.com:${receiver.port}/`)).outcome)
  expect(outcomes).toEqual(['acked', 'blocked', 'acked', 'blocked', 'blocked'])
  expect(asked).toEqual(Array(5).fill('hooks.example.com'))
  expect([receiver.requests.length, inside.connections]).toEqual([2, 0])
})

test('of several good addresses the next is dialled when the first refuses', async () => {
  const receiver = await receiving()
  const post = posting({ allowSubnets: ['127.0.0.0/8'], lookup: async () => ['127.0.0.3', '127.0.0.1'] })
  expect(await post(`http://hooks.example.com:${receiver.port}/`)).toMatchObject({ outcome: 'acked' })
})

test.each([
  ['no address', async () => []],
  ['no answer', () => new Promise<string[]>(() => {})],
])('a name with %s is dns', async (_, lookup) => {
  const post = posting({ lookup, limits: { totalMs: 1_000, connectMs: 100, headMs: 500 } })
  expect(await post('https://hooks.example.com/')).toEqual({ outcome: 'dns', phases: { dns: expect.any(Number) } })
})

test('one address family is enough for a look-up', async () => {
  const records = async () => ({ kind: 'records' as const, records: ['192.0.2.1'] })
  const nothing = async () => ({ kind: 'failure' as const, cause: 'SERVFAIL' })
  expect(await lookupWith({ a: records, aaaa: nothing })('x.example')).toEqual(['192.0.2.1'])
  expect(await lookupWith({ a: nothing, aaaa: records })('x.example')).toEqual(['192.0.2.1'])
  expect(await lookupWith({ a: nothing, aaaa: nothing })('x.example')).toEqual([])
})

test('a certificate has to be trusted and to name the host', async () => {
  const receiver = await receiving({ tls: true })
  const stranger = await receiving({ tls: CERTIFICATE })
  const post = posting()
  const at = (name: string) => receiver.url.replace('127.0.0.1', name)
  expect(await post(at('receiver.example.test'))).toMatchObject({ outcome: 'acked' })
  expect(await post(at('receiver.example.test.'))).toMatchObject({ outcome: 'acked' })
  expect(await post(at('other.example.test'))).toMatchObject({ outcome: 'tls' })
  expect(await posting({ ca: undefined })(at('receiver.example.test'))).toMatchObject({ outcome: 'tls' })
  expect(await post(stranger.url)).toMatchObject({ outcome: 'tls' })
  expect([receiver.requests.length, stranger.requests.length]).toEqual([2, 0])
})

test('authorities of NODE_EXTRA_CA_CERTS are trusted', async () => {
  const receiver = await receiving({ tls: true })
  const dir = await mkdtemp(join(tmpdir(), 'verdict-ca-'))
  ends.push(() => rm(dir, { recursive: true }))
  await writeFile(join(dir, 'ca.pem'), RECEIVER_AUTHORITY)
  const program = `
    import { createPost } from ${JSON.stringify(new URL('../../server/webhooks/post.ts', import.meta.url).href)}
    const { post, close } = createPost({ allowSubnets: ['127.0.0.0/8'], lookup: async () => [] })
    console.log((await post(${JSON.stringify(receiver.url)}, {}, Buffer.from('{}'))).outcome)
    await close()`
  const run = async (env: NodeJS.ProcessEnv) => {
    const child = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { env })
    return (await child).stdout.trim()
  }
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env
  expect(await Promise.all([run(env), run({ ...env, NODE_EXTRA_CA_CERTS: join(dir, 'ca.pem') })])).toEqual([
    'tls',
    'acked',
  ])
})

test('who leaves hears why at once, and the connection is closed', async () => {
  const receiver = await receiving()
  receiver.script = { fault: 'hang' }
  const post = posting()
  const leaving = new AbortController()
  const posted = post(receiver.url, leaving.signal)
  await expect.poll(() => receiver.requests.length).toBe(1)
  const closed = once(receiver.requests[0]!.socket, 'close')
  leaving.abort(new Error('shutting down'))
  await expect(posted).rejects.toThrow('shutting down')
  await closed
  await expect(post(receiver.url, leaving.signal)).rejects.toThrow('shutting down')
  const dialling = new AbortController()
  const slow = posting({ lookup: () => new Promise(() => {}) })
  const early = slow('https://hooks.example.com/', dialling.signal)
  dialling.abort(new Error('shutting down'))
  await expect(early).rejects.toThrow('shutting down')
})

test('a request that is none is a fault of ours and not of the receiver', async () => {
  const receiver = await receiving()
  await expect(posting()(receiver.url, undefined, { 'X-Broken': 'a\nb' })).rejects.toThrow(/invalid X-Broken header/)
})

test('through a proxy the name is vetted here, and the tunnel leads to the vetted address', async () => {
  const receiver = await receiving({ tls: true })
  const proxy = await startProxy()
  const post = posting({ proxy: `http://user:pass@127.0.0.1:${proxy.port}` })
  const url = receiver.url.replace('127.0.0.1', 'receiver.example.test')
  for (let i = 0; i < 2; i++) expect(await post(url)).toMatchObject({ outcome: 'acked' })
  expect(proxy.tunnels).toEqual([`127.0.0.1:${receiver.port} Basic ${btoa('user:pass')}`])
  const rebound = posting({ proxy: `http://127.0.0.1:${proxy.port}`, lookup: async () => ['127.0.0.2'] })
  expect(await rebound(url)).toMatchObject({ outcome: 'blocked' })
  expect(proxy.tunnels).toHaveLength(1)
})

test('a proxy that refuses is a failure to connect, and what it says is told to nobody', async () => {
  const receiver = await receiving()
  const proxy = await startProxy(403)
  const posted = await posting({ proxy: `http://127.0.0.1:${proxy.port}` })(receiver.url)
  expect(posted).toEqual({ outcome: 'connect', phases: { connect: expect.any(Number) } })
  expect(receiver.connections).toBe(0)
})

test('a proxy of the environment is not used', async () => {
  const receiver = await receiving()
  const proxy = await startProxy()
  const names = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY']
  for (const name of names) vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`)
  ends.push(() => vi.unstubAllEnvs())
  expect(await posting()(receiver.url)).toMatchObject({ outcome: 'acked' })
  expect(proxy.connections).toBe(0)
})

/** Counts the connections to a place nobody may dial. */
async function counting(port: number) {
  const counter = { connections: 0 }
  const server = createServer((socket) => {
    counter.connections++
    socket.destroy()
  })
  await listening(server, port, '127.0.0.2')
  return counter
}

async function startProxy(refusal?: number) {
  const proxy = { port: 0, connections: 0, tunnels: [] as string[] }
  const server = createHttpServer()
  server.on('connection', () => proxy.connections++)
  server.on('connect', (request, socket) => {
    if (refusal) return void socket.end(`HTTP/1.1 ${refusal} No\r\nContent-Length: 9\r\n\r\n10.9.8.7!`)
    proxy.tunnels.push([request.url, request.headers['proxy-authorization']].join(' ').trim())
    const { hostname, port } = new URL(`http://${request.url}`)
    const target = connect(Number(port), hostname, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
    target.on('error', () => socket.destroy()).pipe(socket)
    socket.on('error', () => target.destroy()).pipe(target)
  })
  await listening(server)
  proxy.port = (server.address() as AddressInfo).port
  return proxy
}

async function listening(server: Server, port = 0, host = '127.0.0.1'): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening')
  ends.push(() => new Promise((resolve) => server.close(resolve)))
}
