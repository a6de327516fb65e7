import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import { create, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { encodeEnvelope } from '@connectrpc/connect/protocol'
import { errorFromJsonBytes } from '@connectrpc/connect/protocol-connect'
import { findTrailerError } from '@connectrpc/connect/protocol-grpc'
import { afterAll, expect, test } from 'vitest'
import { EmailService, SendRequestSchema } from '../../../gen/verdict/v1/emails_pb.ts'
import { reasonOf } from '../../../server/errors.ts'
import { SINGLE_HEADERS } from '../../../server/http/listener/header-fault.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { expectErrorBody } from '../documented.ts'
import { KEY, startGateway } from '../gateway.ts'
import { MAIL } from '../requests.ts'

const keys: (string | null)[] = []
const gateway = untilEnd(
  await startGateway({
    async send(_, { requestHeader }) {
      keys.push(requestHeader.get('idempotency-key'))
      return {}
    },
  }),
)
const session = http2.connect(gateway.url, { strictSingleValueFields: false } as object)
afterAll(() => session.destroy())

const RPC = `/${EmailService.typeName}/Send`
const MESSAGE = toBinary(SendRequestSchema, create(SendRequestSchema, { ...MAIL, to: [MAIL.to] }))

interface Reply {
  status: number
  headers: Headers
  body: Buffer
}

interface Protocol {
  path: string
  type: string
  body: Uint8Array
  expectRefusal(reply: Reply): void
}

const PROTOCOLS: Record<string, Protocol> = {
  REST: {
    path: '/api/v1/emails/send',
    type: 'application/json',
    body: Buffer.from(JSON.stringify(MAIL)),
    expectRefusal({ status, headers, body }) {
      const json = JSON.parse(body.toString())
      expectErrorBody(status, json, headers.get('x-request-id'))
      expect([status, json.error]).toEqual([400, 'invalid_payload'])
    },
  },
  Connect: {
    path: RPC,
    type: 'application/proto',
    body: MESSAGE,
    expectRefusal({ status, headers, body }) {
      expect([status, headers.get('content-type')]).toEqual([400, 'application/json'])
      expect(JSON.parse(body.toString()).code).toBe('invalid_argument')
      expect(reasonOf(errorFromJsonBytes(body, undefined, new ConnectError('unreadable')))).toBe('invalid_payload')
    },
  },
  gRPC: grpc('application/grpc', 'application/grpc'),
  'gRPC-Web': grpc('application/grpc-web+proto', 'application/grpc-web+proto'),
}

function grpc(type: string, replyType: string): Protocol {
  return {
    path: RPC,
    type,
    body: encodeEnvelope(0, MESSAGE),
    expectRefusal({ status, headers, body }) {
      const seen = [status, headers.get('content-type'), headers.get('grpc-status'), body.length]
      expect(seen).toEqual([200, replyType, '3', 0])
      expect(reasonOf(findTrailerError(headers))).toBe('invalid_payload')
    },
  }
}

/** Header names and values in turn. */
type Lines = string[]

const VERSIONS: Record<string, (protocol: Protocol, lines: Lines) => Promise<Reply>> = {
  async 'HTTP/1.1'({ path, body }, lines) {
    const length = ['host', 'verdict.test', 'content-length', String(body.length)]
    const request = http.request(gateway.url + path, { method: 'POST', headers: [...length, ...lines] })
    request.end(body)
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    return replyOf(response.statusCode!, response.headers, response)
  },
  async 'HTTP/2'({ path, body }, lines) {
    const pseudo = [':method', 'POST', ':path', path, ':scheme', 'http', ':authority', 'verdict.test']
    const stream = session.request([...pseudo, ...lines])
    stream.end(body)
    const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    return replyOf(Number(headers[':status']), headers, stream)
  },
}

async function replyOf(status: number, headers: object, body: AsyncIterable<Buffer>): Promise<Reply> {
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  const named = Object.entries(headers).filter(([name]) => !name.startsWith(':'))
  return { status, headers: new Headers(named), body: Buffer.concat(chunks) }
}

const cases = Object.keys(PROTOCOLS).flatMap((protocol) =>
  Object.keys(VERSIONS).map((version) => [protocol, version] as const),
)

/** The parsers refuse these by themselves, before there is a request. */
const REFUSED_BY_PARSER: Record<string, string[]> = {
  'HTTP/1.1': ['content-length'],
  'HTTP/2': ['content-length', 'host'],
}

test.each(cases)(
  '%s over %s: a header with a single meaning that occurs twice is refused',
  async (protocol, version) => {
    const { type, expectRefusal } = PROTOCOLS[protocol]!
    const usual: Record<string, string> = { 'content-type': type, authorization: `Bearer ${KEY}` }
    const spelling = (name: string) => (version === 'HTTP/2' ? name : name.toUpperCase())
    for (const name of SINGLE_HEADERS.filter((name) => !REFUSED_BY_PARSER[version]!.includes(name))) {
      const { [name]: first = '1', ...others } = usual
      for (const second of [first, 'other']) {
        const lines = [...Object.entries(others).flat(), name, first, spelling(name), second]
        expectRefusal(await VERSIONS[version]!(PROTOCOLS[protocol]!, lines))
      }
    }
    expect(keys).toEqual([])
  },
)

test.each(cases)('%s over %s: a comma inside one idempotency key is a part of it', async (protocol, version) => {
  const lines = ['content-type', PROTOCOLS[protocol]!.type, 'authorization', `Bearer ${KEY}`, 'idempotency-key', 'k, k']
  expect((await VERSIONS[version]!(PROTOCOLS[protocol]!, lines)).status).toBe(200)
  expect(keys.splice(0)).toEqual(['k, k'])
})

test('each repeated header is named, and the refusal is logged with its protocol', async () => {
  const lines = ['content-type', 'application/grpc', 'Idempotency-Key', 'k', 'Idempotency-Key', 'k']
  const { headers } = await VERSIONS['HTTP/1.1']!(PROTOCOLS.gRPC!, lines)
  expect(findTrailerError(headers)!.rawMessage).toBe('The Idempotency-Key header occurs twice. Send it once.')
  await expect.poll(() => gateway.lines.at(-1)).toMatchObject({ protocol: 'grpc', code: 'invalid_payload' })
})

test('headers with lists of values may occur twice', async () => {
  const lines = ['content-type', 'application/json', 'authorization', `Bearer ${KEY}`]
  for (const name of ['accept', 'accept-encoding', 'cookie', 'x-forwarded-for', 'tracestate', 'x-own'])
    lines.push(name, 'a=1', name, 'a=1')
  for (const request of Object.values(VERSIONS)) expect((await request(PROTOCOLS.REST!, lines)).status).toBe(200)
})

test.each(cases)(
  '%s over %s: headers over 16 KiB are refused in the protocol of the caller',
  async (protocol, version) => {
    const { type, expectRefusal } = PROTOCOLS[protocol]!
    const usual = ['content-type', type, 'authorization', `Bearer ${KEY}`]
    const large = ['x-large', 'x'.repeat(20_000)]
    const many = Array.from({ length: 500 }, (_, i) => [`x-${i}`, 'many small values that are large together']).flat()
    for (const lines of [large, many])
      expectRefusal(await VERSIONS[version]!(PROTOCOLS[protocol]!, [...usual, ...lines]))
    const most = ['x-large', 'x'.repeat(15_000)]
    expect((await VERSIONS[version]!(PROTOCOLS[protocol]!, [...usual, ...most])).status).toBe(200)
    keys.splice(0)
  },
)

test.each(['gRPC', 'gRPC-Web'])(
  '%s: a path that does not exist is unimplemented, with the path that was meant',
  async (protocol) => {
    for (const request of Object.values(VERSIONS)) {
      const lines = ['content-type', PROTOCOLS[protocol]!.type, 'authorization', `Bearer ${KEY}`]
      for (const [path, words] of [
        [`/${RPC}`, `Did you mean ${RPC}?`],
        [`${RPC}/`, `Did you mean ${RPC}?`],
        [`${RPC}Never`, 'There is nothing at this path.'],
      ] as const) {
        const { status, headers } = await request({ ...PROTOCOLS[protocol]!, path }, lines)
        const error = findTrailerError(headers)!
        expect([status, error.code, error.rawMessage]).toEqual([
          200,
          Code.Unimplemented,
          expect.stringContaining(words),
        ])
      }
      const repeated = [...lines, 'idempotency-key', 'a', 'idempotency-key', 'a']
      const { headers } = await request({ ...PROTOCOLS[protocol]!, path: `${RPC}Never` }, repeated)
      expect(reasonOf(findTrailerError(headers))).toBe('invalid_payload')
    }
  },
)
