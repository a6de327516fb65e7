// The law: requests on a connection have the same responses wherever the network cuts them. No response is a 500, no
// connection hangs, and those of others go on. Requests without a fault have the responses of each sent alone.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { KEY, startGateway } from '../test/http/gateway.ts'
import { MAIL } from '../test/http/requests.ts'
import { exchange } from './plans/exchange.ts'
import type { Target } from './target.ts'

const SEND_RPC = 'POST /verdict.v1.EmailService/Send'
const TARGETS = {
  send: ['POST /api/v1/emails/send', 'application/json'],
  validate: ['POST /api/v1/emails/validate', 'application/json'],
  batch: ['POST /api/v1/emails/batch', 'application/json'],
  connect: [SEND_RPC, 'application/json'],
  protobuf: [SEND_RPC, 'application/proto'],
  'grpc-web': [SEND_RPC, 'application/grpc-web+proto'],
  events: ['GET /api/v1/events?limit=1', 'application/json'],
  health: ['GET /healthz', 'application/json'],
  unknown: ['POST /nope', 'text/plain'],
  'other method': ['DELETE /api/v1/emails/send', 'application/json'],
} as const

const mail = JSON.stringify(MAIL)
const body = fc.oneof(
  fc.constantFrom(mail, JSON.stringify({ ...MAIL, subject: 'Grüße 世界 👩‍💻' }), JSON.stringify({ emails: [MAIL] })),
  fc.constantFrom(
    '',
    '{}',
    mail.slice(0, -1),
    `${mail} `,
    `[${mail}]`,
    '\u0000',
    'GET / HTTP/1.1\r\n\r\n',
    '0\r\n\r\n',
  ),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
)

/** How a request says where its body ends. Those with a fault come last. */
const SOUND_FRAMINGS = ['length', 'length', 'chunks', 'chunks', 'extended chunks', 'trailer', 'expect'] as const
const FAULTY_FRAMINGS = [
  'too short',
  'too long',
  'both',
  'two lengths',
  'bad size',
  'no end of a chunk',
  'none',
] as const
// No request to upgrade: what follows one in the same read is lost in Node's parser.
const FAULTY_LINES = [
  ...['nope', 'Host : x', 'A: b\r\n c', 'A: \0', ': x', 'Content-Length: 5x', 'Transfer-Encoding: gzip', 'A:\rb'],
  ...['Connection: close', 'Expect: tea', `A: ${'a'.repeat(20_000)}`, 'Host: ['],
]

type TargetName = keyof typeof TARGETS
const ALL_TARGETS = Object.keys(TARGETS) as TargetName[]
/** Answered before the body is read, with a key too. gRPC-Web reads the size in its first octets. */
const EARLY = new Set<TargetName>(['events', 'health', 'unknown', 'other method', 'grpc-web'])

const usually = <Value>(value: Value, other: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other })
const line = usually<string | null>(null, fc.constantFrom(...FAULTY_LINES))
const rest = { body, chunk: fc.integer({ min: 1, max: 60 }), line }
const sound = fc.record({
  target: fc.constantFrom(...ALL_TARGETS),
  hasKey: usually(true, fc.constant(false)),
  framing: fc.constantFrom(...SOUND_FRAMINGS),
  ...rest,
})
/** Not for other targets: a connection whose body breaks after the response is kept open for five seconds. */
const faulty = fc.record({
  target: fc.constantFrom(...ALL_TARGETS.filter((target) => !EARLY.has(target))),
  hasKey: fc.constant(true),
  framing: fc.constantFrom(...FAULTY_FRAMINGS),
  ...rest,
})
const request = fc.oneof({ weight: 4, arbitrary: sound }, { weight: 1, arbitrary: faulty })
const inputs = fc.record({
  requests: fc.array(request, { minLength: 1, maxLength: 4 }),
  /** An octet that is another one. */
  octet: fc.option(fc.record({ at: fc.nat(1_000), value: fc.nat(255) }), { freq: 5 }),
  /** Where the stream is cut; after each octet, or as often as it may be, when null. */
  cuts: fc.option(fc.array(fc.nat(1_500), { maxLength: 6 }), { freq: 5 }),
})
type Input = typeof inputs extends fc.Arbitrary<infer I> ? I : never
type Request = Input['requests'][number]

/** Ends the connection when everything before it has its response. */
const LAST = 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: last\r\nConnection: close\r\n\r\n'
const HEALTH = LAST.replace('last', 'other')

export const http: Target<Input> = {
  inputs,
  async start() {
    const gateway = await startGateway({ listen: { headersTimeoutMs: 2_000 }, limits: { bodyTimeoutMs: 1_500 } })
    const talk = (pieces: Buffer[]) => exchange(gateway.port, pieces)

    async function check({ requests: drawn, octet, cuts }: Input): Promise<void> {
      const requests = drawn.map(firstAloneExpects)
      gateway.lines.length = gateway.sent.length = 0
      const octets = Buffer.from(requests.map(octetsOf).join('') + LAST)
      const limit = octets.length - LAST.length
      if (octet && octet.at < limit) octets[octet.at] = octet.value
      const whole = await talk([octets])
      const [parted, [other]] = await Promise.all([talk(partsOf(octets, cuts)), talk([Buffer.from(HEALTH)])])
      assert.equal(other?.status, 200, 'another connection is not served')
      const compared = sameUpTo(requests, octet?.at)
      assert.deepEqual(
        parted.slice(0, compared),
        whole.slice(0, compared),
        'cut apart, the requests have other responses',
      )
      const failed = [...parted, ...whole].filter(({ status }) => status >= 500)
      assert.deepEqual(failed, [])
      if (octet || requests.some(isFaulty)) return
      const alone = await Promise.all(requests.map((one) => talk([Buffer.from(octetsOf(one) + LAST)])))
      assert.deepEqual(
        whole.slice(0, -1),
        alone.map(([first]) => first),
        'alone, a request has another response',
      )
    }

    return { check, stop: () => gateway.close() }
  },
}

/**
 * How many responses depend on the octets alone. A request that is refused before its body is read may have its
 * response before a fault of the body arrives.
 */
function sameUpTo(requests: readonly Request[], changedAt?: number): number | undefined {
  let end = 0
  const index = requests.findIndex((one) => {
    const start = end
    end += Buffer.byteLength(octetsOf(one))
    const isChanged = changedAt !== undefined && changedAt >= start && changedAt < end
    const isRefused = isEarly(one) || one.line !== null
    return isChanged ? isRefused || isFramedBadly(one) : isRefused && isFramedBadly(one)
  })
  return index < 0 ? undefined : index
}

const isEarly = ({ hasKey, target }: Pick<Request, 'hasKey' | 'target'>) => !hasKey || EARLY.has(target)

/** A caller that waits for 100 Continue sends nothing before it, and so has no other request that waits. */
const firstAloneExpects = (request: Request, i: number): Request =>
  i > 0 && request.framing === 'expect' ? { ...request, framing: 'length' } : request

/** The connection of a caller that waits with a body ends where no body is wanted. */
const isFaulty = ({ line, framing, ...request }: Request) =>
  line !== null || isFramedBadly({ framing }) || (framing === 'expect' && (request.body === '' || isEarly(request)))

const isFramedBadly = ({ framing }: Pick<Request, 'framing'>) =>
  (FAULTY_FRAMINGS as readonly string[]).includes(framing)

function octetsOf({ target, hasKey, body, framing, chunk, line }: Request): string {
  const [start, type] = TARGETS[target]
  const lines = [
    `${start} HTTP/1.1`,
    'Host: x',
    'X-Request-Id: same',
    ...(hasKey ? [`Authorization: Bearer ${KEY}`] : []),
    `Content-Type: ${type}`,
    ...(line === null ? [] : [line]),
  ]
  const [framed, content] = framedBody(framing, body, chunk)
  return `${[...lines, ...framed].join('\r\n')}\r\n\r\n${content}`
}

function framedBody(framing: Request['framing'], body: string, chunk: number): [lines: string[], content: string] {
  const length = Buffer.byteLength(body)
  const chunked = 'Transfer-Encoding: chunked'
  const sized = (octets: number) => `Content-Length: ${octets}`
  const chunks = (extension = '') =>
    (body.match(new RegExp(`[^]{1,${chunk}}`, 'gu')) ?? []).map(
      (part) => `${Buffer.byteLength(part).toString(16)}${extension}\r\n${part}\r\n`,
    )
  const whole = `${chunks().join('')}0\r\n\r\n`
  switch (framing) {
    case 'length':
      return [[sized(length)], body]
    case 'expect':
      return [[sized(length), 'Expect: 100-continue'], body]
    case 'chunks':
      return [[chunked], whole]
    case 'extended chunks':
      return [[chunked], `${chunks(';name="a;b"').join('')}000\r\n\r\n`]
    case 'trailer':
      return [[chunked], `${chunks().join('')}0\r\nX-Trailer: x\r\n\r\n`]
    case 'too short':
      return [[sized(Math.max(0, length - chunk))], body]
    case 'too long':
      return [[sized(length + chunk)], body]
    case 'both':
      return [[chunked, sized(length)], whole]
    case 'two lengths':
      return [[sized(length), sized(length + chunk)], body]
    case 'bad size':
      return [[chunked], `${chunks().join('')}x${chunk}\r\n\r\n`]
    case 'no end of a chunk':
      return [[chunked], whole.replace('\r\n0\r\n', '0\r\n')]
    case 'none':
      return [[], body]
  }
}

const MOST_PARTS = 2_000

function partsOf(octets: Buffer, cuts: Input['cuts']): Buffer[] {
  const step = Math.ceil(octets.length / MOST_PARTS)
  const places = cuts ?? Array.from({ length: MOST_PARTS }, (_, i) => i * step)
  const inside = [...new Set(places)].filter((at) => at > 0 && at < octets.length).sort((a, b) => a - b)
  return [0, ...inside].map((at, i) => octets.subarray(at, inside[i]))
}
