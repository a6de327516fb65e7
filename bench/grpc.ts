import { create, toBinary } from '@bufbuild/protobuf'
import { encodeEnvelope } from '@connectrpc/connect/protocol'
import { SendRequestSchema } from '../gen/verdict/v1/emails_pb.ts'
import { type Http2Run, startHttp2Load } from './load/http2.ts'
import { type Product, startProduct } from './load/product.ts'
import { sendBody } from './load/sends.ts'
import { startSink } from './load/sink.ts'
import { type Pair, playPairs, type Round, ratio, round } from './pairs.ts'
import { atLeast, median, type Report } from './report.ts'

const SENDS = 2_000
const LIMIT_CALLS = 6_000
const IN_FLIGHT = 64
const CONNECTIONS = [1, 8]

/** What one protocol sends, and what it expects in each response. */
type Request = Pick<Http2Run, 'headers' | 'body' | 'expected'>

/**
 * gRPC against REST, both over HTTP/2 and from the same load tool: whole sends, and GetLimits, whose own work is two
 * short queries.
 */
export async function run(): Promise<Report> {
  await using sink = await startSink()
  await using product = await startProduct(sink)
  await using http = await startHttp2Load()

  const play = async (requests: number, connections: number, [grpc, rest]: [Request, Request]) => {
    const side = (request: Request) => (): Promise<Round> =>
      round([product.apiPid], requests, () =>
        http.ask({ ...request, port: product.port, connections, inFlight: IN_FLIGHT, requests }),
      )
    const [ours, theirs] = [side(grpc), side(rest)]
    await ours()
    await theirs()
    return playPairs(ours, theirs, 'REST')
  }

  const report: Report = { figures: {}, bars: [] }
  for (const connections of CONNECTIONS) {
    const over = `over ${connections} ${connections === 1 ? 'connection' : 'connections'}`
    console.log(`sends ${over}`)
    add(report, `sends ${over}`, await play(SENDS, connections, sends(product)), 0.95)
    console.log(`GetLimits ${over}`)
    add(report, `GetLimits ${over}`, await play(LIMIT_CALLS, connections, limits(product)), 0.9)
  }
  return report
}

function add({ figures, bars }: Report, name: string, pairs: readonly Pair[], limit: number): void {
  for (const [protocol, side] of [['gRPC', 'ours'] as const, ['REST', 'theirs'] as const]) {
    figures[`${name}: ${protocol}/s`] = median(pairs.map((pair) => pair[side].perSecond))
    figures[`${name}: ${protocol} CPU us of the API`] = median(pairs.map((pair) => pair[side].cpuMicros))
  }
  bars.push(atLeast(`${name}: gRPC relative to REST`, ratio(pairs, 'perSecond'), limit))
}

function sends({ key }: Product): [grpc: Request, rest: Request] {
  const json = sendBody()
  const { from, to, subject, text } = JSON.parse(json)
  const message = toBinary(SendRequestSchema, create(SendRequestSchema, { from, to: [to], subject, text }))
  return [
    {
      headers: grpcHeaders('/verdict.v1.EmailService/Send', key),
      body: base64(encodeEnvelope(0, message)),
      // The field `status` with the value DELIVERED, at the start of the message.
      expected: '\x08\x01',
    },
    {
      headers: [
        ...pseudoHeaders('POST', '/api/v1/emails/send'),
        ['authorization', `Bearer ${key}`],
        ['content-type', 'application/json'],
        ['content-length', String(Buffer.byteLength(json))],
      ],
      body: base64(Buffer.from(json)),
      expected: '"status":"delivered"',
    },
  ]
}

function limits({ key }: Product): [grpc: Request, rest: Request] {
  return [
    {
      headers: grpcHeaders('/verdict.v1.LimitsService/GetLimits', key),
      body: base64(encodeEnvelope(0, new Uint8Array())),
      expected: 'example.test',
    },
    {
      headers: [...pseudoHeaders('GET', '/api/v1/limits'), ['authorization', `Bearer ${key}`]],
      expected: '"example.test"',
    },
  ]
}

/** The headers of a generated client that sets a deadline, as docs/grpc.md advises. */
export function grpcHeaders(path: string, key: string): Http2Run['headers'] {
  return [
    ...pseudoHeaders('POST', path),
    ['content-type', 'application/grpc'],
    ['user-agent', 'bench'],
    ['te', 'trailers'],
    ['grpc-timeout', '40S'],
    ['authorization', `Bearer ${key}`],
  ]
}

function pseudoHeaders(method: string, path: string): Http2Run['headers'] {
  return [
    [':method', method],
    [':scheme', 'http'],
    [':path', path],
    [':authority', '127.0.0.1'],
  ]
}

export const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
