import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { create, createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { ConnectError, createServiceImplSpec, type Interceptor } from '@connectrpc/connect'
import { codeToString } from '@connectrpc/connect/protocol-connect'
import { pino } from 'pino'
import { FairTurns } from '../../../net/fair-turns.ts'
import type { App } from '../../../server/http/app.ts'
import { createByteBudget } from '../../../server/http/body/byte-budget.ts'
import { type Call, callKey } from '../../../server/http/call.ts'
import { createFastify } from '../../../server/http/fastify.ts'
import { listen } from '../../../server/http/listener/listen.ts'
import { collectPaths, otherMethods } from '../../../server/http/rest/other-methods.ts'
import { rpcRoutes } from '../../../server/http/rpc/rpc.ts'
import { conformanceService } from './service.ts'

// The server under test of Connect's conformance suite: its service behind the product's listener and routes. The suite
// starts it with a file of descriptors, writes what it wants to standard input, and reads where the server listens.

const PACKAGE = 'connectrpc.conformance.v1'
const MAX_BYTES = 15 * 2 ** 20

interface CompatRequest {
  useTls: boolean
  messageReceiveLimit: number
}

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, await readFile(process.argv[2]!)))

async function createConformanceApp({ messageReceiveLimit }: CompatRequest): Promise<App> {
  const inFlight = new Set<Call>()
  const draining = new AbortController().signal
  const budget = createByteBudget({ totalBytes: 16 * MAX_BYTES, waitMs: 10_000 })
  const log = pino({ level: 'silent' })
  const fastify = createFastify({ trustProxy: [], records: { log, inFlight, ended() {} }, visit: async () => {} })
  const collect = collectPaths(fastify)
  const service = registry.getService(`${PACKAGE}.ConformanceService`)!
  await fastify.register(rpcRoutes, {
    services: [createServiceImplSpec(service, conformanceService(registry) as never)],
    interceptors: [noteCode],
    limits: {
      maxBytes: MAX_BYTES,
      timeoutMs: 10_000,
      budget,
      smallBudget: budget,
      turns: new FairTurns(),
      draining,
    },
    messageBytes: messageReceiveLimit || undefined,
    admit: async () => {},
  })
  const paths = collect()
  await fastify.register(otherMethods, { paths, visit: async () => {} })
  await fastify.ready()
  const handle: App['handle'] = (request, response) => fastify.routing(request as never, response as never)
  const nothing = () => {}
  const isReady = async () => true
  const signals = { leaving: draining, draining }
  return {
    handle,
    inFlight,
    ...signals,
    isReady,
    leave: nothing,
    drain: nothing,
    bodyBudget: budget,
    smallBodyBudget: budget,
    paths,
  }
}

/** Notes the code of an error, as the product's outermost interceptor does. The error then reaches the caller. */
const noteCode: Interceptor = (next) => async (request) => {
  const call = request.contextValues.get(callKey)!
  const note = (error: unknown) => {
    call.code = codeToString(ConnectError.from(error).code)
    return error
  }
  async function* noting<Message>(messages: AsyncIterable<Message>) {
    try {
      yield* messages
    } catch (error) {
      throw note(error)
    }
  }
  const response = await next(request).catch((error) => Promise.reject(note(error)))
  return response.stream ? { ...response, message: noting(response.message) } : response
}

/** Reads one message with its size before it. */
async function readWanted(): Promise<CompatRequest> {
  let input = Buffer.alloc(0)
  while (input.length < 4 || input.length < 4 + input.readUInt32BE(0)) {
    const [chunk] = await once(process.stdin, 'data')
    input = Buffer.concat([input, chunk])
  }
  const message = fromBinary(registry.getMessage(`${PACKAGE}.ServerCompatRequest`)!, input.subarray(4))
  return message as unknown as CompatRequest
}

function writeSized(message: Uint8Array): void {
  const size = Buffer.alloc(4)
  size.writeUInt32BE(message.length)
  process.stdout.write(Buffer.concat([size, message]))
}

const wanted = await readWanted()
if (wanted.useTls) throw new Error('TLS is not part of these tests')
const { port } = await listen(await createConformanceApp(wanted), { host: '127.0.0.1', port: 0 })
const response = registry.getMessage(`${PACKAGE}.ServerCompatResponse`)!
writeSized(toBinary(response, create(response, { host: '127.0.0.1', port } as Record<string, unknown>)))
