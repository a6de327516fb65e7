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
import { connectTimeoutMs, grpcTimeoutMs, isEndless } from './grpc-timeout.ts'
import { InProcessRequest, inProcess } from './in-process.ts'
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

/**
 * Serves a unary method to calls of plain gRPC. The implementation is called in process, as on REST: the protocol
 * library passes each message through a chain of async iterables.
 */
export function createGrpcHandler(spec: MethodImplSpec, parts: RpcParts) {
  const { method, invoke } = inProcess(spec, parts.interceptors)
  const readMessage = createMessageRead(method.input, parts)

  return async ({ call }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack()
    let request: InProcessRequest | undefined
    try {
      setDeadline(call)
      request = new InProcessRequest(method, call, await readMessage(call))
      const response = toBinary(method.output, await invoke(request))
      const packed = acceptsGzip(call) ? await packedWhenWorth(response) : undefined
      if (!call.left) respond(call, OK, packed ?? response, request, packed !== undefined)
    } catch (error) {
      const visible = failWith(error, call)
      if (call.left) return
      respond(call, Object.fromEntries(setStatus(new Headers(), visible)), undefined, request)
    }
  }
}

/** Returns the error that the caller of a failed call gets. The log has its code, unless the caller has left. */
export function failWith(error: unknown, call: Call): ConnectError {
  // A ConnectError that passed the interceptors, such as a deadline, is for the caller.
  const visible = error instanceof ConnectError ? error : shown(error, call)
  if (!call.left) call.code = reasonOf(visible) ?? codeToString(visible.code)
  return visible
}

/** Returns the reader of a call's one message. Its bytes are free while the implementation works. */
export function createMessageRead(input: DescMessage, { limits, messageBytes }: RpcParts) {
  const messageLimits = { ...limits, maxBytes: messageBytes ?? limits.maxBytes }
  return async (call: Call): Promise<Message> => {
    const { message, isPacked } = onlyMessage(call, await readBody(call, limits, envelopeSize))
    refuseLarge(message.length, messageLimits)
    return parse(input, isPacked ? await unpack(call, message, messageLimits) : message)
  }
}

export function setDeadline(call: Call): void {
  const name = call.protocol === 'connect' ? 'connect-timeout-ms' : 'grpc-timeout'
  const text = call.raw.headers[name]
  if (text === undefined) return
  const timeoutMs = call.protocol === 'connect' ? connectTimeoutMs(String(text)) : grpcTimeoutMs(String(text))
  if (timeoutMs === undefined) throw fail('invalid_payload', `The header ${name} is not valid.`)
  if (!isEndless(timeoutMs)) call.expireAfter(timeoutMs)
}

/** The one message of a body, and whether it is packed by gzip. */
function onlyMessage(call: Call, body: Buffer): { message: Buffer; isPacked: boolean } {
  const size = envelopeSize(body)
  if (body.length === 0) throw new ConnectError('The request has no message.', Code.Unimplemented)
  if (size === undefined || size > body.length) throw fail('invalid_payload', 'The message is incomplete.')
  if (size < body.length) throw fail('invalid_payload', 'The request has bytes after its message.')
  const flags = body.readUInt8()
  if (flags > COMPRESSED) throw fail('invalid_payload', 'The first byte of the message must be 0 or 1.')
  const isPacked = flags === COMPRESSED
  if (isPacked && encodingOf(call) !== 'gzip')
    throw fail('invalid_payload', 'The message is compressed, but no header says that its encoding is gzip.')
  return { message: body.subarray(ENVELOPE_BYTES), isPacked }
}

/** Whether the caller takes messages that are packed by gzip. */
export function acceptsGzip({ protocol, raw: { headers } }: Call): boolean {
  const name = protocol === 'connect' ? 'connect-accept-encoding' : 'grpc-accept-encoding'
  return /(^|,)\s*gzip\s*(,|$)/.test(String(headers[name] ?? ''))
}

/** Returns the message packed by gzip if it becomes smaller. */
export async function packedWhenWorth(message: Uint8Array): Promise<Uint8Array | undefined> {
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

function respond(
  call: Call,
  status: Record<string, string>,
  message: Uint8Array | undefined,
  request: InProcessRequest | undefined,
  isPacked = false,
): void {
  const { headers, trailers } = request ?? {}
  const response = call.response as Http2ServerResponse
  const encoding = isPacked ? { 'grpc-encoding': 'gzip' } : undefined
  const head = { ...call.reply.getHeaders(), ...headers, ...encoding, 'content-type': TYPE }
  response.writeHead(200, head as OutgoingHttpHeaders)
  response.addTrailers({ ...trailers, ...status })
  if (message) response.write(encodeEnvelope(isPacked ? COMPRESSED : 0, message))
  response.end()
}
