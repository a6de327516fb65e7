import { once } from 'node:events'
import http2 from 'node:http2'
import { connect } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { letArrive } from '../../harness/waits.ts'
import { KEY, startGateway } from '../gateway.ts'

// A caller that leaves in the middle of its body gives back the memory that its call has taken.

const gateway = await startGateway()

interface Cut {
  path: string
  type: string
  /** Bytes of the whole body. Absent where the head does not say it. */
  length?: number
  sent: number
}

const PROTOCOLS = [
  { path: '/api/v1/emails/send', type: 'application/json' },
  { path: '/verdict.v1.EmailService/Send', type: 'application/json' },
  { path: '/verdict.v1.EmailService/Send', type: 'application/proto' },
  { path: '/verdict.v1.EmailService/Send', type: 'application/grpc' },
  { path: '/verdict.v1.EmailService/Send', type: 'application/grpc-web' },
]

const cuts = fc
  .record({
    protocol: fc.constantFrom(...PROTOCOLS),
    length: fc.constantFrom(100, 60_000, 600_000),
    hasLength: fc.boolean(),
    part: fc.double({ min: 0, max: 0.99, noNaN: true }),
  })
  .map(({ protocol, length, hasLength, part }): Cut => {
    return { ...protocol, ...(hasLength && { length }), sent: Math.floor(length * part) }
  })

/** A message of gRPC that is longer than what is sent of it. */
const bytesOf = (sent: number) =>
  Buffer.concat([Buffer.of(0, 0, 9, 39, 192), Buffer.alloc(sent, ' ')]).subarray(0, sent)

async function cutHttp1({ path, type, length, sent }: Cut): Promise<void> {
  const socket = connect(gateway.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  await once(socket, 'connect')
  const size = length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: ${type}\r\n${size}\r\n\r\n`,
  )
  if (length === undefined && sent > 0) socket.write(`${(2 * sent).toString(16)}\r\n`)
  socket.write(bytesOf(sent))
  await letArrive(15)
  socket.destroy()
}

const session = http2.connect(gateway.url)

async function cutHttp2({ path, type, length, sent }: Cut): Promise<void> {
  const head = {
    ':method': 'POST',
    ':path': path,
    'content-type': type,
    authorization: `Bearer ${KEY}`,
    te: 'trailers',
  }
  const stream = session.request({ ...head, ...(length !== undefined && { 'content-length': length }) })
  stream.on('error', () => {})
  stream.resume()
  stream.write(bytesOf(sent))
  await letArrive(15)
  stream.close(http2.constants.NGHTTP2_CANCEL)
}

test('whatever the protocol, and wherever the body is cut, the call gives back its share of the memory', async () => {
  const { smallBodyBudget, bodyBudget } = gateway.app
  await fc.assert(
    fc.asyncProperty(cuts, fc.constantFrom(1, 2), async (cut, version) => {
      await (version === 1 ? cutHttp1(cut) : cutHttp2(cut))
      await expect.poll(() => [smallBodyBudget.inUse(), bodyBudget.inUse()], { interval: 5 }).toEqual([0, 0])
    }),
    { numRuns: 120, endOnFailure: true },
  )
  session.destroy()
})
