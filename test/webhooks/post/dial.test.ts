import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { createLookup } from '../../../net/lookup.ts'
import { CERTIFICATE } from '../../harness/certificates.ts'
import { ends, newAccountPost, newReceiver, startListening, undo } from './posting.ts'

afterEach(undo)

test('every new connection looks the name up again, and dials the addresses of that look-up', async () => {
  const receiver = await newReceiver()
  receiver.script = { headers: { connection: 'close' } }
  const inside = await counting(receiver.port)
  const lookups = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1'], ['127.0.0.2', '127.0.0.1'], ['127.0.0.1', '127.0.0.2']]
  const queries: string[] = []
  const lookup = async (name: string) => {
    queries.push(name)
    return lookups.shift()!
  }
  const post = newAccountPost({ lookup })
  const outcomes = []
  for (let i = 0; i < 5; i++) outcomes.push((await post(`http://hooks.example.com:${receiver.port}/`)).outcome)
  expect(outcomes).toEqual(['acked', 'blocked', 'acked', 'blocked', 'blocked'])
  expect(queries).toEqual(Array(5).fill('hooks.example.com'))
  expect([receiver.requests.length, inside.connections]).toEqual([2, 0])
})

test('the next good address is dialled when the first one refuses', async () => {
  const receiver = await newReceiver()
  const post = newAccountPost({ allowSubnets: ['127.0.0.0/8'], lookup: async () => ['127.0.0.3', '127.0.0.1'] })
  expect(await post(`http://hooks.example.com:${receiver.port}/`)).toMatchObject({ outcome: 'acked' })
})

test('a URL that the guard refuses is blocked, and nothing is looked up', async () => {
  const lookup = () => Promise.reject(new Error('looked up'))
  for (const url of ['http://127.0.0.2/', 'https://10.0.0.1/', 'no url'])
    expect(await newAccountPost({ lookup })(url)).toEqual({ outcome: 'blocked', phases: {} })
})

test('a name without an address is dns', async () => {
  const post = newAccountPost({ lookup: async () => [] })
  expect(await post('https://hooks.example.com/')).toMatchObject({
    outcome: 'dns',
    phases: { dns: expect.any(Number) },
  })
})

test('a look-up that does not end in time is no attempt', async () => {
  const lookup = () => new Promise<string[]>(() => {})
  const post = newAccountPost({ lookup, limits: { totalMs: 1_000, connectMs: 100, headMs: 500 } })
  expect(await post('https://hooks.example.com/')).toBeUndefined()
})

test('one address family is enough for a look-up', async () => {
  const records = async () => ({ kind: 'records' as const, records: ['192.0.2.1'] })
  const nothing = async () => ({ kind: 'failure' as const, cause: 'SERVFAIL' })
  expect(await createLookup({ a: records, aaaa: nothing })('x.example')).toEqual(['192.0.2.1'])
  expect(await createLookup({ a: nothing, aaaa: records })('x.example')).toEqual(['192.0.2.1'])
  expect(await createLookup({ a: nothing, aaaa: nothing })('x.example')).toBeUndefined()
})

test('a certificate has to be trusted and to name the host', async () => {
  const receiver = await newReceiver({ tls: true })
  const stranger = await newReceiver({ tls: CERTIFICATE })
  const post = newAccountPost()
  const at = (name: string) => receiver.url.replace('127.0.0.1', name)
  expect(await post(at('receiver.example.test'))).toMatchObject({ outcome: 'acked' })
  expect(await post(at('receiver.example.test.'))).toMatchObject({ outcome: 'acked' })
  expect(await post(at('other.example.test'))).toMatchObject({ outcome: 'tls', code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  expect(await newAccountPost({ ca: undefined })(at('receiver.example.test'))).toMatchObject({ outcome: 'tls' })
  expect(await post(stranger.url)).toMatchObject({ outcome: 'tls' })
  expect([receiver.requests.length, stranger.requests.length]).toEqual([2, 0])
})

test('through a proxy the name is vetted here, and the tunnel leads to the vetted address', async () => {
  const receiver = await newReceiver({ tls: true })
  const proxy = await startProxy()
  const post = newAccountPost({ proxy: `http://user:pass@127.0.0.1:${proxy.port}` })
  const url = receiver.url.replace('127.0.0.1', 'receiver.example.test')
  for (let i = 0; i < 2; i++) expect(await post(url)).toMatchObject({ outcome: 'acked' })
  expect(proxy.tunnels).toEqual([`127.0.0.1:${receiver.port} Basic ${btoa('user:pass')}`])
  const rebound = newAccountPost({ proxy: `http://127.0.0.1:${proxy.port}`, lookup: async () => ['127.0.0.2'] })
  expect(await rebound(url)).toMatchObject({ outcome: 'blocked' })
  expect(proxy.tunnels).toHaveLength(1)
})

test('a proxy that refuses is a failure to connect, and nothing of its response is shown', async () => {
  const receiver = await newReceiver()
  const proxy = await startProxy(403)
  const result = await newAccountPost({ proxy: `http://127.0.0.1:${proxy.port}` })(receiver.url)
  expect(result).toEqual({ outcome: 'connect', phases: { connect: expect.any(Number) } })
  expect(receiver.connections).toBe(0)
})

test('a port where nothing listens is named by the code of the system', async () => {
  const receiver = await newReceiver()
  await receiver.close()
  expect(await newAccountPost()(receiver.url)).toMatchObject({ outcome: 'connect', code: 'ECONNREFUSED' })
})

test('a proxy named by the environment is not used', async () => {
  const receiver = await newReceiver()
  const proxy = await startProxy()
  const names = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY']
  for (const name of names) vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`)
  ends.push(() => vi.unstubAllEnvs())
  expect(await newAccountPost()(receiver.url)).toMatchObject({ outcome: 'acked' })
  expect(proxy.connections).toBe(0)
})

/** Counts the connections to an address that may not be dialled. */
async function counting(port: number) {
  const counter = { connections: 0 }
  const server = createServer((socket) => {
    counter.connections++
    socket.destroy()
  })
  await startListening(server, port, '127.0.0.2')
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
  await startListening(server)
  proxy.port = (server.address() as AddressInfo).port
  return proxy
}
