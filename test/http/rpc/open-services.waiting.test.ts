import { once } from 'node:events'
import http2 from 'node:http2'
import { create, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { afterEach, expect, test, vi } from 'vitest'
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Serving,
} from '../../../gen/grpc/health/v1/health_pb.ts'
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  ServerReflection as V1,
} from '../../../gen/grpc/reflection/v1/reflection_pb.ts'
import { ServerReflection as V1Alpha } from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import { reasonOf } from '../../../server/errors.ts'
import { createReflectionServices } from '../../../server/http/rpc/reflection.ts'
import { type Gateway, startGateway } from '../gateway.ts'
import { MAIL, open, receive, send } from '../requests.ts'

// Health and reflection need no key. A caller without one must not use up what accounts need.

const errorOf = (call: Promise<unknown>) => call.then(() => expect.fail('no error'), ConnectError.from)
const grpc = (gateway: Gateway) => createGrpcTransport({ baseUrl: gateway.url, nodeOptions: { maxSessionMemory: 64 } })

/** A field outside of the contract, with the given length. */
function unknownField(bytes: number): Uint8Array {
  const message = create(HealthCheckRequestSchema)
  message.$unknown = [{ no: 99, wireType: 2, data: Buffer.concat([varint(bytes), Buffer.alloc(bytes)]) }]
  return toBinary(HealthCheckRequestSchema, message)
}

function varint(number: number): Buffer {
  const bytes: number[] = []
  for (let rest = number; ; rest >>>= 7) {
    bytes.push((rest & 127) | (rest > 127 ? 128 : 0))
    if (rest <= 127) return Buffer.from(bytes)
  }
}

function enveloped(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** Sends one call of raw bytes over HTTP/2 and returns the trailers of its response. */
async function callRaw(url: string, path: string, bytes: Buffer): Promise<Record<string, string>> {
  // Node's client drops a response that arrives while more than 10 MB of the request wait to be written.
  const session = http2.connect(url, { maxSessionMemory: 64 })
  session.on('error', () => {})
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' })
  stream.on('error', () => {})
  const fields = {}
  stream.on('response', (headers) => Object.assign(fields, headers))
  stream.on('trailers', (trailers) => Object.assign(fields, trailers))
  stream.resume().end(bytes)
  await once(stream, 'close')
  session.destroy()
  return fields
}

test.each([
  ['Health.Check', '/grpc.health.v1.Health/Check'],
  ['Health.List', '/grpc.health.v1.Health/List'],
  ['Health.Watch', '/grpc.health.v1.Health/Watch'],
  ['reflection', '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'],
  ['reflection of the older version', '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo'],
])('%s reads a message of 4 KiB and refuses a larger one', async (_, path) => {
  await using gateway = await startGateway()
  const codeFor = async (bytes: number) =>
    (await callRaw(gateway.url, path, enveloped(unknownField(bytes))))['grpc-status']
  for (const bytes of [4_096, 60_000, 2 ** 20, 15 * 2 ** 20 - 100]) {
    expect(await codeFor(bytes)).toBe(String(Code.ResourceExhausted))
  }
  if (!path.endsWith('Watch')) expect(await codeFor(4_000)).toBe('0')
})

test('the requests of a reflection stream may have 64 KiB in all, however short they are', async () => {
  await using gateway = await startGateway()
  const question = enveloped(unknownField(4_000))
  const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
  const flood = Buffer.concat(Array.from({ length: 20 }, () => question))
  expect((await callRaw(gateway.url, path, flood))['grpc-status']).toBe(String(Code.ResourceExhausted))
})

test('a call without a key takes no memory from the bodies of calls with a key', async () => {
  await using gateway = await startGateway({ limits: { budgetBytes: 2 ** 20, budgetWaitMs: 100 } })
  const sockets = await Promise.all(Array.from({ length: 5 }, () => open(gateway.port)))
  for (const type of ['application/json', 'application/grpc-web+proto', 'application/proto']) {
    for (const socket of sockets) {
      socket.write(
        `POST /grpc.health.v1.Health/Check HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: 15000000\r\n\r\n`,
      )
    }
  }
  await expect.poll(() => gateway.lines.filter(({ msg }) => msg === 'request').length).toBeGreaterThanOrEqual(5)
  const large = { ...MAIL, text: 'x'.repeat(200_000) }
  expect((await send(gateway.url, large)).status).toBe(200)
  for (const socket of sockets) socket.destroy()
})

test('a large body to health is refused before a byte of it is read', async () => {
  await using gateway = await startGateway()
  const socket = await open(gateway.port)
  socket.write(
    'POST /grpc.health.v1.Health/Check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 15000000\r\n\r\n',
  )
  const received = await receive(socket)
  expect(received).toContain('The request is larger than 64 KiB.')
})

test('calls without a key count by address, 600 a minute, and a refusal says when to retry', async () => {
  await using gateway = await startGateway()
  const client = createClient(Health, grpc(gateway))
  const ask = () => client.check({}).then(() => undefined, ConnectError.from)
  const errors = (await Promise.all(Array.from({ length: 650 }, ask))).filter((error) => error !== undefined)
  expect(errors).toHaveLength(50)
  expect([errors[0]!.code, reasonOf(errors[0])]).toEqual([Code.ResourceExhausted, 'rate_limit_exceeded'])
  expect(Number(errors[0]!.metadata.get('retry-after'))).toBeGreaterThan(0)
  // It delays neither calls with a key nor the probes over HTTP.
  expect((await send(gateway.url, MAIL)).status).toBe(200)
  expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200)
})

test('an address has 50 open streams, and each that ends makes room for another', async () => {
  await using gateway = await startGateway()
  const client = createClient(Health, grpc(gateway))
  const leaving = new AbortController()
  const watch = async () => {
    const responses = client.watch({}, { signal: leaving.signal })[Symbol.asyncIterator]()
    return (await responses.next()).value?.status
  }
  expect(await Promise.all(Array.from({ length: 50 }, watch))).toEqual(Array(50).fill(Serving.SERVING))
  const refused = await errorOf(createClient(Health, grpc(gateway)).watch({})[Symbol.asyncIterator]().next())
  expect([refused.code, reasonOf(refused)]).toEqual([Code.ResourceExhausted, 'rate_limit_exceeded'])
  leaving.abort()
  await expect
    .poll(() =>
      createClient(Health, grpc(gateway))
        .watch({})
        [Symbol.asyncIterator]()
        .next()
        .catch(() => undefined),
    )
    .toMatchObject({ value: { status: Serving.SERVING } })
})

test('many watchers query the database and Temporal no more often than one watcher', async () => {
  let asked = 0
  await using gateway = await startGateway({
    checks: async () => {
      asked++
      return { database: 'ok' }
    },
  })
  const client = createClient(Health, grpc(gateway))
  const startedAt = performance.now()
  const streams = Array.from({ length: 50 }, () => client.watch({})[Symbol.asyncIterator]())
  await Promise.all(streams.map((stream) => stream.next()))
  await expect.poll(() => asked).toBeGreaterThanOrEqual(3)
  expect(asked).toBeLessThanOrEqual((performance.now() - startedAt) / 1_000 + 1)
})

test('any number of calls of /readyz and of Health.Check query the database and Temporal once a second', async () => {
  let asked = 0
  await using gateway = await startGateway({
    checks: async () => {
      asked++
      return { database: 'ok' }
    },
  })
  const client = createClient(Health, grpc(gateway))
  const startedAt = performance.now()
  const statuses = await Promise.all(
    Array.from({ length: 200 }, async () => [
      (await fetch(`${gateway.url}/readyz`)).status,
      (await client.check({})).status,
    ]),
  )
  expect(statuses).toEqual(Array(200).fill([200, Serving.SERVING]))
  expect(asked).toBeGreaterThan(0)
  expect(asked).toBeLessThanOrEqual((performance.now() - startedAt) / 1_000 + 1)
})

test('watching an unknown service says so, and waits', async () => {
  await using gateway = await startGateway()
  const stream = createClient(Health, grpc(gateway)).watch({ service: 'nope' })[Symbol.asyncIterator]()
  expect((await stream.next()).value).toMatchObject({ status: Serving.SERVICE_UNKNOWN })
  const next = stream.next()
  await gateway.close()
  expect((await next.catch(() => ({ done: true }))).done).toBe(true)
})

/** A request of reflection. */
type Question = NonNullable<Parameters<typeof create<typeof ServerReflectionRequestSchema>>[1]>
const fileOf = (name: string): Question => ({ messageRequest: { case: 'fileByFilename', value: name } })
const symbol = (name: string): Question => ({ messageRequest: { case: 'fileContainingSymbol', value: name } })

async function* questions(list: Question[]) {
  yield* list
}

test.each([
  ['v1', V1],
  ['v1alpha', V1Alpha],
])('reflection %s sends an imported file once in a stream, and a requested file each time', async (_, version) => {
  await using gateway = await startGateway()
  const client = createClient(version as typeof V1, grpc(gateway))
  const counts: number[] = []
  const asked = [
    fileOf('verdict/v1/emails.proto'),
    fileOf('verdict/v1/events.proto'),
    fileOf('verdict/v1/events.proto'),
  ]
  for await (const { messageResponse } of client.serverReflectionInfo(questions(asked))) {
    if (messageResponse.case === 'fileDescriptorResponse') counts.push(messageResponse.value.fileDescriptorProto.length)
  }
  expect(counts[0]).toBeGreaterThan(5)
  expect(counts.slice(1)).toEqual([1, 1])
})

test('reflection describes the details of an error', async () => {
  await using gateway = await startGateway()
  const client = createClient(V1, grpc(gateway))
  const names = ['google.rpc.ErrorInfo', 'google.rpc.BadRequest', 'google.rpc.RetryInfo', 'verdict.v1.ErrorReason']
  const cases: (string | undefined)[] = []
  for await (const { messageResponse } of client.serverReflectionInfo(questions(names.map(symbol)))) {
    cases.push(messageResponse.case)
  }
  expect(cases).toEqual(Array(names.length).fill('fileDescriptorResponse'))
})

test('a flood of requests gets 512 KiB of files at most, and each request counts', async () => {
  await using gateway = await startGateway()
  const client = createClient(V1, grpc(gateway))
  let sentBytes = 0
  const flood = Array.from({ length: 500 }, () => fileOf('google/protobuf/descriptor.proto'))
  const error = await errorOf(
    (async () => {
      for await (const { messageResponse } of client.serverReflectionInfo(questions(flood))) {
        if (messageResponse.case !== 'fileDescriptorResponse') continue
        for (const { length } of messageResponse.value.fileDescriptorProto) sentBytes += length
      }
    })(),
  )
  expect([error.code, reasonOf(error)]).toEqual([Code.ResourceExhausted, 'rate_limit_exceeded'])
  expect(sentBytes).toBeGreaterThan(2 ** 19 - 20_000)
  expect(sentBytes).toBeLessThanOrEqual(2 ** 19)
  for (let i = 0; i < 500; i++) gateway.openCalls.count('127.0.0.1')
  const lists = Array.from({ length: 100 }, (): Question => ({ messageRequest: { case: 'listServices', value: '' } }))
  const over = await errorOf(
    (async () => {
      for await (const _ of client.serverReflectionInfo(questions(lists)));
    })(),
  )
  expect(over.rawMessage).toMatch(/^The 600 calls per minute of health and reflection are used up\. /)
})

test('reflection sends at most 200 responses a second, on any number of streams', async () => {
  await using gateway = await startGateway()
  const client = createClient(V1, grpc(gateway))
  const lists = Array.from({ length: 20 }, (): Question => ({ messageRequest: { case: 'listServices', value: '' } }))
  let responses = 0
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: 5 }, async () => {
      for await (const _ of client.serverReflectionInfo(questions(lists))) responses++
    }),
  )
  expect(responses).toBe(100)
  expect(performance.now() - startedAt).toBeGreaterThan(400)
})

afterEach(() => void vi.useRealTimers())

test('a reflection stream lasts a minute at most', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const [spec] = createReflectionServices([EmailService], () => {})
  const { impl } = spec!.methods.serverReflectionInfo!
  async function* silent(): AsyncGenerator<ServerReflectionRequest> {
    yield create(ServerReflectionRequestSchema, { messageRequest: { case: 'listServices', value: '' } })
    await new Promise(() => {})
  }
  // biome-ignore lint/suspicious/noExplicitAny: the specification of any kind of method
  const responses = (impl as any)(silent(), {})[Symbol.asyncIterator]()
  expect((await responses.next()).value.messageResponse.case).toBe('listServicesResponse')
  const ended = responses.next()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await ended).toEqual({ done: true, value: undefined })
})
