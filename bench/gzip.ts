import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { create, toBinary } from '@bufbuild/protobuf'
import { createContextValues } from '@connectrpc/connect'
import { encodeEnvelope } from '@connectrpc/connect/protocol'
import { SendRequestSchema } from '../gen/verdict/v1/emails_pb.ts'
import { createByteBudget } from '../server/http/body/byte-budget.ts'
import { unpack } from '../server/http/body/gunzip.ts'
import type { Call } from '../server/http/call.ts'
import { base64, grpcHeaders } from './grpc.ts'
import { startGateway } from './load/gateway.ts'
import { type Http2Run, startHttp2Load } from './load/http2.ts'
import { type Pair, playPairs, type Round, ratio, round } from './pairs.ts'
import { atMost, median, type Report } from './report.ts'

const SENDS = 10_000
const IN_FLIGHT = 32
const MiB = 2 ** 20
const MAX_BYTES = 15 * MiB
const REPEATS = 7

/** What gzip costs: sends with and without it, large messages, and messages that are made to cost much. */
export async function run(): Promise<Report> {
  const pairs = await sends()
  const packedMicros = median(pairs.map(({ ours, theirs }) => ours.cpuMicros - theirs.cpuMicros))
  const whole = text(MAX_BYTES)
  const cases = {
    'a text of 15 MiB': gzipSync(whole),
    'attachments of 15 MiB': gzipSync(randomBytes((MAX_BYTES * 3) / 4).toString('base64')),
    // Refused after it was counted.
    'a text of 15 MiB and a byte': gzipSync(text(MAX_BYTES + 1)),
    'a bomb of 1 GiB': gzipSync(Buffer.alloc(2 ** 30)),
    '15 MiB of empty blocks': emptyBlocks(MAX_BYTES),
    '16 KiB of empty blocks': emptyBlocks(16 * 1024),
  }
  const figures: Report['figures'] = {
    'plain sends: CPU us': median(pairs.map(({ theirs }) => theirs.cpuMicros)),
    'packed sends: CPU us': median(pairs.map(({ ours }) => ours.cpuMicros)),
    'packed sends: CPU us more than plain ones': packedMicros,
    'packed sends: rate relative to plain ones': ratio(pairs, 'perSecond'),
  }
  for (const [name, packed] of Object.entries(cases)) {
    figures[`${name}: CPU ms`] = await least(packed, cpuMs)
    figures[`${name}: ms blocked at once`] = await least(packed, blockedMs)
  }
  return { figures, bars: [atMost('packed sends: CPU us more than plain ones', packedMicros, 150)] }
}

async function sends(): Promise<Pair[]> {
  await using load = await startHttp2Load()
  await using gateway = await startGateway()
  const port = await gateway.ask(null)
  const message = toBinary(
    SendRequestSchema,
    create(SendRequestSchema, {
      ...{ to: ['ada@recipient.test'], from: 'Shop <orders@example.test>', subject: 'Your order has been shipped' },
      text: text(1_000).toString(),
    }),
  )
  const side = (request: Pick<Http2Run, 'headers' | 'body'>) => (): Promise<Round> =>
    round([gateway.pid], SENDS, () =>
      load.ask({ ...request, expected: '\x08\x01', port, connections: 1, inFlight: IN_FLIGHT, requests: SENDS }),
    )
  const headers = grpcHeaders('/verdict.v1.EmailService/Send', 'svc_live_bench')
  const plain = side({ headers, body: base64(encodeEnvelope(0, message)) })
  const packed = side({
    headers: [...headers, ['grpc-encoding', 'gzip']],
    body: base64(encodeEnvelope(1, gzipSync(message))),
  })
  await packed()
  await plain()
  return await playPairs(packed, plain, 'plain')
}

/** The least of several runs: other work of the machine only adds. */
async function least(packed: Buffer, measured: (work: () => Promise<unknown>) => Promise<number>): Promise<number> {
  const budget = createByteBudget({ totalBytes: 2 ** 30, waitMs: 0 })
  const limits = { maxBytes: MAX_BYTES, budget }
  const call = {
    values: createContextValues(),
    remoteAddress: '192.0.2.1',
    signal: new AbortController().signal,
  } as unknown as Call
  const runs: number[] = []
  while (runs.length < REPEATS) {
    runs.push(await measured(() => unpack(call, packed, limits).catch(() => {})))
    call.release?.()
    call.release = undefined
  }
  return Math.min(...runs)
}

async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** The longest time in which the process could do nothing else. */
async function blockedMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = performance.now()
  let running = true
  const watch = () => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    if (running) setImmediate(watch)
  }
  setImmediate(watch)
  await work()
  running = false
  await new Promise(setImmediate)
  return longest
}

const WORDS =
  'your order left our warehouse today and should be with you on Friday or on Monday <p> </p> <td> class="item"'

/** Text that gzip makes four times as small, as HTML of mails. */
function text(bytes: number): Buffer {
  const words = WORDS.split(' ')
  const random = randomBytes(bytes)
  const filled = Buffer.alloc(bytes, ' ')
  for (let at = 0, i = 0; at < bytes; i++)
    at += filled.write(`${words[random[i]! % words.length]}${random[i]} `, at) || 1
  return filled
}

/** A gzip of nothing: its head, empty stored blocks, and no end. */
function emptyBlocks(bytes: number): Buffer {
  const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
  return Buffer.concat([head, Buffer.alloc(bytes - head.length, Buffer.from([0, 0, 0, 255, 255]))])
}
