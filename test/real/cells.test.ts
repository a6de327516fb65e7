import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { Agent, fetch } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Health, HealthCheckResponse_ServingStatus as Status } from '../../gen/grpc/health/v1/health_pb.ts'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { type Envoy, startCellsEnvoy } from './envoy.ts'
import { type Nginx, startCellsNginx } from './nginx.ts'
import { type Account, createSender, type Product, SENDER_DOMAIN, startProduct } from './product.ts'

// Two installations behind one name. An API key says to which of them nginx or Envoy sends a request.

const HOST = 'mail.verdict.example'
const MESSAGE = {
  from: `orders@${SENDER_DOMAIN}`,
  to: ['delivered@simulator.test'],
  subject: 'Your order',
  text: 'Sent.',
}
const CELLS = ['a1', 'b2'] as const
type Cell = (typeof CELLS)[number]
const accounts = {} as Record<Cell, Account>
const products = {} as Record<Cell, Product>
let nginx: Nginx
let envoy: Envoy
const agents: Agent[] = []

beforeAll(async () => {
  const ports = {} as Record<Cell, number>
  for (const cell of CELLS) {
    accounts[cell] = await createSender(SENDER_DOMAIN, cell)
    products[cell] = await startProduct(accounts[cell], { TRUST_PROXY: '127.0.0.1', LOG_LEVEL: 'warn' })
    ports[cell] = Number(new URL(products[cell].api.url).port)
  }
  ;[nginx, envoy] = await Promise.all([startCellsNginx(ports), startCellsEnvoy(ports, HOST)])
})

afterAll(async () => {
  for (const agent of agents) await agent.close()
})

const PROXIES = {
  nginx: () => ({ url: nginx.tlsUrl, certificate: nginx.certificate }),
  Envoy: () => envoy,
}

/** Returns the cells that have a message of this id. */
async function cellsWith(messageId: string): Promise<string[]> {
  const found = await Promise.all(
    CELLS.map(async (cell) => ((await products[cell].get(`/api/v1/emails/${messageId}`)).message_id ? [cell] : [])),
  )
  return found.flat()
}

function agentFor({ certificate }: { certificate: string }): Agent {
  const agent = new Agent({ connect: { ca: certificate, servername: HOST } })
  agents.push(agent)
  return agent
}

const authorization = (cell: Cell) => ({ authorization: `Bearer ${accounts[cell].key}` })

describe.each(Object.entries(PROXIES))('behind %s', (_, proxy) => {
  const agent = () => agentFor(proxy())
  const transports = () => {
    const { url: baseUrl, certificate: ca } = proxy()
    const options = { baseUrl, nodeOptions: { ca, servername: HOST } }
    return {
      gRPC: createGrpcTransport(options),
      'gRPC-Web': createGrpcWebTransport({ ...options, httpVersion: '1.1' }),
      Connect: createConnectTransport({ ...options, httpVersion: '2' }),
    }
  }

  test.each(CELLS)('a send with a key of %s goes to that cell, on every protocol', async (cell) => {
    const response = await fetch(`${proxy().url}/api/v1/emails/send`, {
      method: 'POST',
      headers: { ...authorization(cell), 'content-type': 'application/json' },
      body: JSON.stringify(MESSAGE),
      dispatcher: agent(),
    })
    const sent = [['REST', ((await response.json()) as { message_id: string }).message_id]]
    for (const [protocol, transport] of Object.entries(transports())) {
      const { messageId } = await createClient(EmailService, transport).send(MESSAGE, { headers: authorization(cell) })
      sent.push([protocol, messageId])
    }
    expect(await Promise.all(sent.map(async ([protocol, id]) => [protocol, await cellsWith(id!)]))).toEqual(
      sent.map(([protocol]) => [protocol, [cell]]),
    )
  })

  test('the scheme of the header may have any case', async () => {
    const response = await fetch(`${proxy().url}/api/v1/limits`, {
      headers: { authorization: `bEARER ${accounts.b2.key}` },
      dispatcher: agent(),
    })
    expect([response.status, await response.json()]).toMatchObject([200, {}])
  })

  test('what has no key goes to the first cell, on both protocols', async () => {
    const [behind, first, second] = await Promise.all([
      fetch(`${proxy().url}/.well-known/jwks.json`, { dispatcher: agent() }).then((response) => response.json()),
      ...CELLS.map((cell) => products[cell].get('/.well-known/jwks.json')),
    ])
    expect(behind).toEqual(first)
    expect(behind).not.toEqual(second)
    const { status } = await createClient(Health, transports().gRPC).check({ service: '' })
    expect(status).toBe(Status.SERVING)
  })
})

test('a cell that is away fails alone', async () => {
  await products.b2.api.kill()
  for (const proxy of Object.values(PROXIES)) {
    const agent = agentFor(proxy())
    const statusOf = async (cell: Cell) => {
      const response = await fetch(`${proxy().url}/api/v1/limits`, {
        headers: authorization(cell),
        dispatcher: agent,
      })
      await response.arrayBuffer()
      return response.status
    }
    expect([502, 503]).toContain(await statusOf('b2'))
    expect(await statusOf('a1')).toBe(200)
  }
})
