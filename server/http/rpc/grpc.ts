import { once } from 'node:events'
import type { Http2ServerResponse, OutgoingHttpHeaders } from 'node:http2'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type DescMessage, fromBinary, type Message, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, type MethodImplSpec } from '@connectrpc/connect'
import { encodeEnvelope } from '@connectrpc/connect/protocol'
import { codeToString } from '@connectrpc/connect/protocol-connect'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { fail, reasonOf } from '../../errors.ts'
import { readBody, refuseLarge } from '../body/body.ts'
import { unpack } from '../body/gunzip.ts'
import { type Call, shown } from '../call.ts'
import type { ProtocolParts } from '../rest/rest.ts'
import { grpcTimeoutMs, isEndless } from './grpc-timeout.ts'
import { InProcessRequest, inProcess, messageOf } from './in-process.ts'
import { checkProtobuf } from './protobuf-bounds.ts'
import { BINARY_OPTIONS, COMPRESSED, ENVELOPE_BYTES, encodingOf, envelopeSize } from './rpc-body.ts'
import { setStatus } from './rpc-faults.ts'

export interface RpcParts extends ProtocolParts {
  /** The largest message, when it is shorter than the largest body. */
  messageBytes?: number
}

const TYPE = 'application/grpc+proto'
/** Below this size a packed response would take as many packets. The protocol library has the same limit. */
export const WORTH_PACKING_BYTES = 1024

const pack = promisify(gzip)

/** Whether a call is gRPC as most clients speak it: Protobuf, packed by gzip or not at all, on HTTP/2. */
export function isPlainGrpc({ raw }: Call): boolean {
  const { 'content-type': type = '', 'grpc-encoding': encoding = 'identity' } = raw.headers
  const isKnown = encoding === 'identity' || encoding === 'gzip'
  return 'stream' in raw && isKnown && /^application\/grpc(\+proto)?$/i.test(type)
}

/**
 * Serves a method with one request message to calls of plain gRPC. The implementation is called in process, as on REST:
 * the protocol library passes each message through a chain of async iterables, which live as long as a stream.
 */
export function createGrpcHandler(spec: MethodImplSpec, { interceptors, limits, messageBytes }: RpcParts) {
  const { method, invoke, open } = inProcess(spec, interceptors)
  const { input, output } = method

  const messageLimits = { ...limits, maxBytes: messageBytes ?? limits.maxBytes }

  /** A function of its own, so that the bytes are free while the implementation works. */
  async function readMessage(call: Call): Promise<Message> {
    const { message, isPacked } = onlyMessage(call, await readBody(call, limits, envelopeSize))
    refuseLarge(message.length, messageLimits)
    return parse(input, isPacked ? await unpack(call, message, messageLimits) : message)
  }

  async function respondOnce(call: Call, request: InProcessRequest): Promise<void> {
    const response = toBinary(output, await invoke(request))
    const packed = acceptsGzip(call) ? await packedWhenWorth(response) : undefined
    if (call.left) return
    begin(call, request, packed !== undefined)
    respond(call, OK, request, encodeEnvelope(packed ? COMPRESSED : 0, packed ?? response))
  }

  async function respondInTurn(call: Call, request: InProcessRequest): Promise<void> {
    const mayPack = acceptsGzip(call)
    for await (const message of await open(request)) {
      const bytes = toBinary(output, messageOf(method, message))
      const packed = mayPack ? await packedWhenWorth(bytes) : undefined
      if (call.left) return
      if (!call.response.headersSent) begin(call, request, mayPack)
      // The work has begun: nothing holds what it read.
      call.release?.()
      await written(call, encodeEnvelope(packed ? COMPRESSED : 0, packed ?? bytes))
    }
    respond(call, OK, request)
  }

  const answer = method.methodKind === 'unary' ? respondOnce : respondInTurn

  return async ({ call }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack()
    let request: InProcessRequest | undefined
    try {
      setDeadline(call)
      request = new InProcessRequest(method, call, await readMessage(call))
      await answer(call, request)
    } catch (error) {
      // What the interceptors let pass is for the caller, such as a deadline.
      const visible = error instanceof ConnectError ? error : shown(error, call)
      if (call.left) return
      call.code = reasonOf(visible) ?? codeToString(visible.code)
      respond(call, Object.fromEntries(setStatus(new Headers(), visible)), request)
    } finally {
      // The work has ended: nothing holds what it read, however slowly its caller takes the response.
      call.release?.()
    }
  }
}

function setDeadline(call: Call): void {
  const text = call.raw.headers['grpc-timeout']
  if (text === undefined) return
  const timeoutMs = grpcTimeoutMs(String(text))
  if (timeoutMs === undefined) throw fail('invalid_payload', 'The header grpc-timeout is not valid.')
  if (!isEndless(timeoutMs)) call.expireAfter(timeoutMs)
}

/** The one message of a body, and whether it is packed by gzip. */
function onlyMessage(call: Call, body: Buffer): { message: Buffer; isPacked: boolean } {
  const size = envelopeSize(body)
  if (body.length === 0) throw new ConnectError('The request has no message.', Code.Unimplemented)
  if (size === undefined || size > body.length) throw fail('invalid_payload', 'The message is incomplete.')
  if (size < body.length) throw fail('invalid_payload', 'The request has bytes after its message.')
  const flags = body[0]!
  if (flags > COMPRESSED) throw fail('invalid_payload', 'The first byte of the message must be 0 or 1.')
  const isPacked = flags === COMPRESSED
  if (isPacked && encodingOf(call) !== 'gzip')
    throw fail('invalid_payload', 'The message is compressed, but the header "grpc-encoding: gzip" is missing.')
  return { message: body.subarray(ENVELOPE_BYTES), isPacked }
}

const acceptsGzip = ({ raw }: Call) => /(^|,)\s*gzip\s*(,|$)/.test(String(raw.headers['grpc-accept-encoding'] ?? ''))

/** Returns the message packed by gzip if it becomes smaller. */
async function packedWhenWorth(message: Uint8Array): Promise<Uint8Array | undefined> {
  if (message.length < WORTH_PACKING_BYTES) return undefined
  const packed = await pack(message)
  return packed.length < message.length ? packed : undefined
}

function parse(desc: DescMessage, bytes: Buffer): Message {
  checkProtobuf(desc, bytes)
  try {
    return fromBinary(desc, bytes, BINARY_OPTIONS)
  } catch (error) {
    throw fail('invalid_payload', `The message is not valid Protobuf for this method: ${(error as Error).message}.`)
  }
}

const OK = { 'grpc-status': '0' }

function begin({ reply, response }: Call, request: InProcessRequest | undefined, mayPack = false): void {
  const http2 = response as Http2ServerResponse
  const encoding = mayPack ? { 'grpc-encoding': 'gzip' } : undefined
  const head = { ...reply.getHeaders(), ...request?.headers, ...encoding, 'content-type': TYPE }
  http2.writeHead(200, head as OutgoingHttpHeaders)
}

/** Resolves when the caller's connection takes more. */
async function written(call: Call, bytes: Uint8Array): Promise<void> {
  const { response, signal } = call
  if ((response as Http2ServerResponse).write(bytes)) return
  await once(response, 'drain', { signal }).catch((error) => {
    throw signal.aborted ? signal.reason : error
  })
}

/** Ends the response. */
function respond(
  call: Call,
  status: Record<string, string>,
  request: InProcessRequest | undefined,
  lastBytes?: Uint8Array,
): void {
  const response = call.response as Http2ServerResponse
  if (!response.headersSent) begin(call, request)
  response.addTrailers({ ...request?.trailers, ...status })
  if (lastBytes) response.write(lastBytes)
  response.end()
}
