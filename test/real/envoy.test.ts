import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { Agent, fetch } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LimitsService } from '../../gen/verdict/v1/limits_pb.ts'
import { startProxy, type TcpProxy } from '../harness/proxy.ts'
import { parseScrape } from '../telemetry/scrape.ts'
import { type Envoy, startEnvoy } from './envoy.ts'
import { type Account, createSender, type Product, startProduct } from './product.ts'

// Three API processes behind Envoy, each with its own way to their database. Envoy learns by one health check or
// by both that a process cannot serve.

const HOST = 'mail.verdict.example'
/** The calls of a look at where they go: with three processes in turn, each gets some. */
const CALLS = 12
const CHECKS = { 'over HTTP': 'rest', 'over gRPC': 'grpc', 'over both protocols': undefined } as const
type Check = keyof typeof CHECKS
const ALL = [0, 1, 2]

let account: Account
const ways: TcpProxy[] = []
const products: Product[] = []
const envoys = {} as Record<Check, Envoy>
const agents: Agent[] = []

beforeAll(async () => {
  account = await createSender()
  const url = new URL(account.env.DATABASE_URL!)
  const target = { host: url.hostname, port: Number(url.port) }
  for (let n = 0; n < 3; n++) ways.push(await startProxy(target))
  for (const way of ways) {
    url.port = String(way.port)
    products.push(await startProduct(account, { DATABASE_URL: url.href, TRUST_PROXY: '127.0.0.1', LOG_LEVEL: 'warn' }))
  }
  const ports = products.map(({ api }) => Number(new URL(api.url).port))
  for (const check of Object.keys(CHECKS) as Check[]) envoys[check] = await startEnvoy(ports, HOST, CHECKS[check])
})

afterAll(async () => {
  for (const agent of agents) await agent.close()
  for (const envoy of Object.values(envoys)) await envoy.stop()
  for (const way of ways) await way.close()
})

function cut(way: TcpProxy): void {
  way.target = undefined
  way.reset()
}

function mend(way: TcpProxy): void {
  const { hostname, port } = new URL(account.env.DATABASE_URL!)
  way.target = { host: hostname, port: Number(port) }
}

/** How many calls of Get limits each process has ended. */
async function callsOfEach(): Promise<number[]> {
  return Promise.all(
    products.map(async ({ api }) => {
      const { series } = parseScrape(await (await fetch(api.metricsUrl)).text())
      const calls = series.filter(
        ({ name, labels }) => name === 'verdict_calls_total' && labels.rpc!.endsWith('GetLimits'),
      )
      return calls.reduce((sum, { value }) => sum + value, 0)
    }),
  )
}

function callers({ url, certificate }: Envoy) {
  const authorization = `Bearer ${account.key}`
  const agent = new Agent({ connect: { ca: certificate, servername: HOST } })
  agents.push(agent)
  const transport = createGrpcTransport({ baseUrl: url, nodeOptions: { ca: certificate, servername: HOST } })
  const limits = createClient(LimitsService, transport)
  return {
    async rest() {
      const response = await fetch(`${url}/api/v1/limits`, { headers: { authorization }, dispatcher: agent })
      return [response.status, await response.json()] as [number, object]
    },
    grpc: () => limits.getLimits({}, { headers: { authorization } }),
  }
}

describe.each(Object.keys(CHECKS) as Check[])('asked %s', (check) => {
  let call: ReturnType<typeof callers>
  beforeAll(() => {
    call = callers(envoys[check])
  })

  /** The processes, by number, that served calls over each protocol. Fails when a call fails. */
  async function serving(): Promise<number[][]> {
    const served: number[][] = []
    for (const one of [async () => expect((await call.rest())[0]).toBe(200), () => call.grpc()]) {
      const before = await callsOfEach()
      for (let n = 0; n < CALLS; n++) await one()
      const after = await callsOfEach()
      served.push(after.flatMap((calls, process) => (calls > before[process]! ? [process] : [])))
    }
    return served
  }

  // Envoy's administration interface shows a check before the thread that serves calls knows of it.
  test('a process that is not ready gets no calls, and gets them again when it is', async () => {
    await expect.poll(envoys[check].failing).toBe(0)
    await expect.poll(serving).toEqual([ALL, ALL])
    cut(ways[0]!)
    cut(ways[1]!)
    await expect.poll(envoys[check].failing).toBe(2)
    await expect.poll(serving).toEqual([[2], [2]])
    mend(ways[0]!)
    mend(ways[1]!)
    await expect.poll(envoys[check].failing).toBe(0)
    await expect.poll(serving).toEqual([ALL, ALL])
  })

  test('while no process is ready, a caller gets the error of the API', async () => {
    for (const way of ways) cut(way)
    await expect.poll(envoys[check].failing).toBe(3)
    expect(await call.rest()).toMatchObject([500, { error: 'transient_failure' }])
    for (const way of ways) mend(way)
    await expect.poll(envoys[check].failing).toBe(0)
    await expect.poll(serving).toEqual([ALL, ALL])
  })
})
