import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { Agent, fetch, request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { Health, HealthCheckResponse_ServingStatus as Status } from '../../gen/grpc/health/v1/health_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { REQUEST_LIMITS } from '../../server/config/limits.ts'
import { untilEnd } from '../harness/until-end.ts'
import { type Nginx, startNginx } from './nginx.ts'
import { type Account, createSender, type Product, SENDER_DOMAIN, startProduct } from './product.ts'

const MESSAGE = {
  from: `orders@${SENDER_DOMAIN}`,
  to: 'delivered@simulator.test',
  subject: 'Your order',
  text: 'Sent.',
}
let account: Account
let product: Product
let nginx: Nginx
let headers: Record<string, string>
let agent: Agent

beforeAll(async () => {
  account = await createSender()
  product = await startProduct(account, {
    TRUST_PROXY: '127.0.0.1',
    LOG_LEVEL: 'warn',
    PUBLIC_URL: 'https://mail.verdict.example',
  })
  // The second process is away, as during a restart: every request succeeds all the same.
  nginx = untilEnd(await startNginx([Number(new URL(product.api.url).port), await freePort()]))
  headers = { authorization: `Bearer ${account.key}` }
  agent = new Agent({ connect: { ca: nginx.certificate, servername: 'mail.verdict.example' } })
})

afterAll(() => agent.close())

const secure = (path: string, more: { method?: string; body?: string } = {}) =>
  fetch(nginx.tlsUrl + path, {
    ...more,
    headers: { ...headers, 'content-type': 'application/json' },
    dispatcher: agent,
  })

test('REST goes through nginx over TLS', async () => {
  const response = await secure('/api/v1/emails/send', { method: 'POST', body: JSON.stringify(MESSAGE) })
  expect([response.status, await response.json()]).toMatchObject([200, { status: 'delivered' }])
  expect(response.headers.get('strict-transport-security')).toBe('max-age=31536000')
})

test('the dashboard and the reference are served over TLS', async () => {
  for (const path of ['/dashboard/', '/api/v1/openapi.json', '/healthz', '/readyz']) {
    const response = await secure(path)
    expect([path, response.status]).toEqual([path, 200])
    await response.arrayBuffer()
  }
})

const tls = () => ({ ca: nginx.certificate, servername: 'mail.verdict.example' })
const TRANSPORTS: Record<string, () => Transport> = {
  'gRPC over TLS': () => createGrpcTransport({ baseUrl: nginx.tlsUrl, nodeOptions: tls() }),
  'gRPC in the clear': () => createGrpcTransport({ baseUrl: nginx.grpcUrl }),
  'gRPC-Web over HTTP/1.1': () =>
    createGrpcWebTransport({ baseUrl: nginx.tlsUrl, httpVersion: '1.1', nodeOptions: tls() }),
  'Connect over HTTP/1.1': () =>
    createConnectTransport({ baseUrl: nginx.tlsUrl, httpVersion: '1.1', nodeOptions: tls() }),
  'Connect over HTTP/2': () => createConnectTransport({ baseUrl: nginx.tlsUrl, httpVersion: '2', nodeOptions: tls() }),
}

test('nginx passes the name on: the dashboard answers to that of PUBLIC_URL, and to no other', async () => {
  const statusOf = async (path: string, host: string) => {
    // fetch sets the Host header itself.
    const { statusCode, body } = await request(nginx.url + path, { headers: { host } })
    await body.dump()
    return statusCode
  }
  expect(await statusOf('/dashboard/', 'mail.verdict.example')).toBe(200)
  expect(await statusOf('/dashboard/', 'mail.verdict.example:8443')).toBe(200)
  expect(await statusOf('/dashboard/', 'evil.example')).toBe(421)
  expect(await statusOf('/healthz', 'evil.example')).toBe(200)
})

test.each(Object.entries(TRANSPORTS))('%s goes through nginx, with its errors and trailers', async (_, transport) => {
  const emails = createClient(EmailService, transport())
  const sent = await emails.send({ ...MESSAGE, to: [MESSAGE.to] }, { headers })
  expect(sent.messageId).toMatch(/^msg_/)
  const fault = await emails.send({ to: [MESSAGE.to] }, { headers }).catch(ConnectError.from)
  expect(fault).toMatchObject({ code: Code.InvalidArgument })
  const { status } = await createClient(Health, transport()).check({ service: '' })
  expect(status).toBe(Status.SERVING)
})

test('REST and gRPC take turns on kept connections without mixing them up', async () => {
  const emails = createClient(Health, createGrpcTransport({ baseUrl: nginx.grpcUrl }))
  for (let i = 0; i < 20; i++) {
    expect((await emails.check({ service: '' })).status).toBe(Status.SERVING)
    expect((await fetch(`${nginx.url}/readyz`)).status).toBe(200)
  }
})

test('a body that is too large gets the error of the API', async () => {
  const body = JSON.stringify({ ...MESSAGE, text: 'x'.repeat(REQUEST_LIMITS.bytes + 1) })
  const response = await secure('/api/v1/emails/send', { method: 'POST', body })
  expect([response.status, await response.json()]).toMatchObject([413, { error: expect.anything() }])
})
