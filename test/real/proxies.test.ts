import { readFileSync } from 'node:fs'
import { createClient, type Interceptor, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { LimitsService } from '../../gen/verdict/v1/limits_pb.ts'
import { type PlainProxy, type ProxyName, startPlainProxy } from './plain-proxies.ts'
import { type Account, createSender, type Product, startProduct } from './product.ts'

// What works behind proxies with the least configuration, and with the lines of docs/proxies.md. The table of that page
// is this run's.

const PROXIES: ProxyName[] = ['nginx', 'HAProxy', 'Envoy']
/** An event that is stored must come over a new stream within this time. */
const AT_ONCE_MS = 5_000
const STAYS_OPEN_MS = 20_000

let account: Account
let product: Product
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  account = await createSender()
  product = await startProduct(account, { LOG_LEVEL: 'warn', TRUST_PROXY: '127.0.0.1' })
  const { status } = await product.send({ to: 'delivered@simulator.test' }, { 'x-service-sandbox': 'true' })
  expect(status).toBe(200)
}, 240_000)
afterAll(async () => {
  for (const stop of stops) await stop()
})

const authorized: Interceptor = (next) => (request) => {
  request.header.set('authorization', `Bearer ${account.key}`)
  return next(request)
}
const shared = { interceptors: [authorized], defaultTimeoutMs: 40_000 }
const get = async (url: string) => {
  const response = await fetch(url, { headers: { authorization: `Bearer ${account.key}` } })
  await response.text()
  return response.status
}
const unary = async (transport: Transport) => void (await createClient(LimitsService, transport).getLimits({}))

/** The stored event comes at once, and the stream stays open. */
async function stream(transport: Transport): Promise<void> {
  const ending = new AbortController()
  let isOpen = false
  const timers = [
    setTimeout(() => isOpen || ending.abort(), AT_ONCE_MS),
    setTimeout(() => ending.abort(), STAYS_OPEN_MS),
  ]
  const options = { signal: ending.signal, timeoutMs: 0 }
  try {
    const responses = createClient(EventService, transport).streamEvents({ after: 'begin', sandbox: true }, options)
    for await (const { events } of responses) isOpen ||= events.length > 0
    throw new Error('the stream ended')
  } catch (error) {
    if (!isOpen || !ending.signal.aborted) throw error
  } finally {
    for (const timer of timers) clearTimeout(timer)
  }
}

const expectOk = async (status: Promise<number>) => expect(await status).toBe(200)
const WAIT_20_S = '/api/v1/events/changes?wait_s=20'

const CASES: [name: string, run: (proxy: PlainProxy) => Promise<unknown>][] = [
  ['REST', ({ url }) => expectOk(get(`${url}/api/v1/limits`))],
  ['A call of 20 s', ({ url }) => expectOk(get(url + WAIT_20_S))],
  ['Connect', ({ url }) => unary(createConnectTransport({ ...shared, baseUrl: url, httpVersion: '1.1' }))],
  ['Connect stream', ({ url }) => stream(createConnectTransport({ ...shared, baseUrl: url, httpVersion: '1.1' }))],
  ['gRPC-Web', ({ url }) => unary(createGrpcWebTransport({ ...shared, baseUrl: url, httpVersion: '1.1' }))],
  ['gRPC-Web stream', ({ url }) => stream(createGrpcWebTransport({ ...shared, baseUrl: url, httpVersion: '1.1' }))],
  ['gRPC', ({ grpcUrl }) => unary(createGrpcTransport({ ...shared, baseUrl: grpcUrl }))],
  ['gRPC stream', ({ grpcUrl }) => stream(createGrpcTransport({ ...shared, baseUrl: grpcUrl }))],
]

async function resultsOf(name: ProxyName, isMended: boolean): Promise<string[]> {
  const proxy = await startPlainProxy(name, Number(new URL(product.api.url).port), isMended)
  stops.push(() => proxy.stop())
  const results = await Promise.allSettled(CASES.map(([, run]) => run(proxy)))
  for (const [i, result] of results.entries())
    if (result.status === 'rejected')
      console.log(`${name}, ${isMended ? 'mended' : 'plain'}, ${CASES[i]![0]}: ${result.reason}`)
  return results.map(({ status }) => (status === 'fulfilled' ? 'yes' : 'no'))
}

test('the page on proxies says what works behind each, and with its lines all does', async () => {
  const columns = await Promise.all(
    PROXIES.flatMap((name) =>
      [false, true].map(async (isMended) => [name, isMended, await resultsOf(name, isMended)] as const),
    ),
  )
  for (const [name, isMended, results] of columns)
    if (isMended) expect([name, results]).toEqual([name, CASES.map(() => 'yes')])
  const plain = columns.filter(([, isMended]) => !isMended)
  const rows = CASES.map(([name], i) => [name, ...plain.map(([, , results]) => results[i]!)])
  const page = readFileSync('docs/proxies.md', 'utf8')
  const documented = page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
  expect(documented.slice(0, CASES.length + 2).filter((_, i) => i !== 1)).toEqual([['Call', ...PROXIES], ...rows])
})
