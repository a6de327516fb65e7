import { type ConnectRouterOptions, createConnectRouter, type MethodImpl } from '@connectrpc/connect'
import { universalResponseToNodeResponse } from '@connectrpc/connect-node'
import { fail } from '../errors.ts'
import { answerError } from './answer.ts'
import { type BodyLimits, bodyChunks, readBody, refuseLarge } from './body.ts'
import { type Call, shown } from './call.ts'
import { headersOf } from './in-process.ts'
import { parseJson } from './json-text.ts'
import type { Admit, Path } from './paths.ts'
import { checkProtobuf } from './protobuf-bounds.ts'
import type { ProtocolParts } from './rest.ts'
import { nameFaults } from './rpc-faults.ts'
import { refuseRpc } from './rpc-refusal.ts'

const ENVELOPE_BYTES = 5

interface RpcParts extends ProtocolParts {
  /** Of one message, when it is shorter than a body may be. */
  messageBytes?: number
}

/** The paths of gRPC, gRPC-Web and Connect. */
export function rpcPaths({ services, interceptors, limits, admit, messageBytes }: RpcParts): Path[] {
  const options: ConnectRouterOptions = {
    interceptors,
    readMaxBytes: messageBytes ?? limits.maxBytes,
    // Compressed, 200 KB can become 200 MB.
    acceptCompression: [],
    // An unknown field is lost data here as on REST.
    jsonOptions: { ignoreUnknownFields: false, alwaysEmitImplicit: true },
    // On Protobuf it comes from a newer client. Nothing reads it, and kept it would take ten times its size.
    binaryOptions: { readUnknownFields: false },
  }
  const router = createConnectRouter(options)
  for (const { methods } of services) {
    for (const { method, impl } of Object.values(methods)) router.rpc(method, impl as MethodImpl<typeof method>)
  }
  return router.handlers.map((rpc) => {
    const { method, requestPath: path } = rpc
    // It admits by itself, so that a refusal speaks the protocol.
    const handler = (call: Call) => serve(rpc, limits, admit, call)
    return { path, verbs: Object.fromEntries(rpc.allowedMethods.map((verb) => [verb, { method, handler }])) }
  })
}

type Rpc = ReturnType<typeof createConnectRouter>['handlers'][number]

async function serve(handler: Rpc, limits: BodyLimits, admit: Admit, call: Call): Promise<void> {
  call.protocol = protocolOf(call.raw.headers['content-type'])
  try {
    await admit(call)
    refuseCompressed(call)
    refuseLarge(Number(call.raw.headers['content-length'] ?? 0), limits)
  } catch (error) {
    return refuseRpc(error, call)
  }
  const answer = await handler({
    httpVersion: call.raw.httpVersion,
    method: call.raw.method!,
    // Only the path and the query mean anything; Host may hold anything.
    url: `http://localhost${call.raw.url}`,
    header: withoutEndlessDeadline(headersOf(call.raw)),
    body: requestBody(call, limits),
    signal: call.signal,
    contextValues: call.values,
  })
  if (call.left) return
  if (answer.status >= 400 && answer.body === undefined) return answerError(refusal(answer.status, handler), call)
  for (const [name, value] of Object.entries(call.headers)) call.response.setHeader(name, value)
  universalResponseToNodeResponse(nameFaults(answer, call), call.response).catch((error) => {
    if (!call.left) shown(error, call)
    call.response.destroy()
  })
}

const MAX_TIMER_MS = 2 ** 31 - 1
/** Milliseconds of the units of `grpc-timeout`. */
const GRPC_UNITS: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** A deadline that no timer can hold, 24 days, is as good as none. The library would take it as over at once. */
function withoutEndlessDeadline(headers: Headers): Headers {
  const connectMs = Number(headers.get('connect-timeout-ms'))
  const [, count, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(headers.get('grpc-timeout') ?? '') ?? []
  if (connectMs > MAX_TIMER_MS) headers.delete('connect-timeout-ms')
  if (Number(count) * (GRPC_UNITS[unit] ?? 0) > MAX_TIMER_MS) headers.delete('grpc-timeout')
  return headers
}

/** gRPC has a status of its own for this, which the library answers with. */
function refuseCompressed({ protocol, raw: { headers } }: Call): void {
  const encoding = headers['content-encoding'] ?? headers['connect-content-encoding'] ?? 'identity'
  if (protocol !== 'connect' || encoding === 'identity') return
  throw fail('unsupported_media_type', 'The body must not be compressed: leave out Content-Encoding.')
}

function protocolOf(type = ''): Call['protocol'] {
  if (type.startsWith('application/grpc-web')) return 'grpc-web'
  return type.startsWith('application/grpc') ? 'grpc' : 'connect'
}

/**
 * The body under the same limits as on REST; an error of ours travels to the caller in its protocol. The one message of a call is
 * checked before the library reads it.
 */
async function* requestBody(call: Call, limits: BodyLimits): AsyncGenerator<Uint8Array> {
  const { methodKind } = call.method!
  const isSingle = methodKind === 'unary' || methodKind === 'server_streaming'
  try {
    if (isSingle) yield checkMessage(call, await readBody(call, limits, isEnveloped(call) ? envelopeSize : undefined))
    else yield* bodyChunks(call, limits, { endless: true })
  } catch (error) {
    throw shown(error, call)
  }
}

const isEnveloped = ({ protocol, method }: Call) => protocol !== 'connect' || method!.methodKind !== 'unary'

/** The body, if its message holds no more than a request may. */
function checkMessage(call: Call, body: Buffer): Buffer {
  const message = isEnveloped(call) ? body.subarray(ENVELOPE_BYTES) : body
  if (isJson(call.raw.headers['content-type'])) parseJson(message)
  else checkProtobuf(call.method!.input, message)
  return body
}

/** `application/json`, `application/grpc+json` and others: none of the protocols has another format but Protobuf. */
const isJson = (type = '') => /\bjson\b/i.test(type)

/** gRPC writes the size of a message in front of it. */
function envelopeSize(first: Buffer): number | undefined {
  return first.length < ENVELOPE_BYTES ? undefined : first.readUInt32BE(1) + ENVELOPE_BYTES
}

/** What the protocols refuse with a bare status. */
function refusal(status: number, { method }: Rpc) {
  if (status === 415) return fail('unsupported_media_type', 'The Content-Type is none of Connect, gRPC or gRPC-Web.')
  return fail('invalid_payload', `${method.name} is not served in this way (${status}).`)
}
