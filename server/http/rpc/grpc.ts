import type { Http2ServerResponse, OutgoingHttpHeaders } from 'node:http2'
import { type DescMessage, fromBinary, type Message, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, type MethodImplSpec } from '@connectrpc/connect'
import { encodeEnvelope } from '@connectrpc/connect/protocol'
import { codeToString } from '@connectrpc/connect/protocol-connect'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { fail, reasonOf } from '../../errors.ts'
import { readBody, refuseLarge } from '../body/body.ts'
import { type Call, shown } from '../call.ts'
import type { ProtocolParts } from '../rest/rest.ts'
import { grpcTimeoutMs, isEndless } from './grpc-timeout.ts'
import { InProcessRequest, inProcess } from './in-process.ts'
import { checkProtobuf } from './protobuf-bounds.ts'
import { BINARY_OPTIONS, ENVELOPE_BYTES, envelopeSize } from './rpc-body.ts'
import { setStatus } from './rpc-faults.ts'

export interface RpcParts extends ProtocolParts {
  /** The largest message, when it is shorter than the largest body. */
  messageBytes?: number
}

const TYPE = 'application/grpc+proto'

/** Whether a call is gRPC as most clients speak it: Protobuf without compression, on HTTP/2. */
export function isPlainGrpc({ raw }: Call): boolean {
  const { 'content-type': type = '', 'grpc-encoding': encoding = 'identity' } = raw.headers
  return 'stream' in raw && encoding === 'identity' && /^application\/grpc(\+proto)?$/i.test(type)
}

/**
 * Serves a unary method to calls of plain gRPC. The implementation is called in process, as on REST: the protocol
 * library passes each message through a chain of async iterables.
 */
export function createGrpcHandler(spec: MethodImplSpec, { interceptors, limits, messageBytes }: RpcParts) {
  const { method, invoke } = inProcess(spec, interceptors)
  const { input, output } = method

  /** A function of its own, so that the bytes are free while the implementation works. */
  async function readMessage(call: Call): Promise<Message> {
    const message = onlyMessage(await readBody(call, limits, envelopeSize))
    refuseLarge(message.length, { ...limits, maxBytes: messageBytes ?? limits.maxBytes })
    return parse(input, message)
  }

  return async ({ call }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack()
    let request: InProcessRequest | undefined
    try {
      setDeadline(call)
      request = new InProcessRequest(method, call, await readMessage(call))
      const response = await invoke(request)
      if (!call.left) respond(call, OK, encodeEnvelope(0, toBinary(output, response)), request)
    } catch (error) {
      // What the interceptors let pass is for the caller, such as a deadline.
      const visible = error instanceof ConnectError ? error : shown(error, call)
      if (call.left) return
      call.code = reasonOf(visible) ?? codeToString(visible.code)
      respond(call, Object.fromEntries(setStatus(new Headers(), visible)), undefined, request)
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

/** The one message of a body. */
function onlyMessage(body: Buffer): Buffer {
  const size = envelopeSize(body)
  if (body.length === 0) throw new ConnectError('The request has no message.', Code.Unimplemented)
  if (size === undefined || size > body.length) throw fail('invalid_payload', 'The message is incomplete.')
  if (size < body.length) throw fail('invalid_payload', 'The request has bytes after its message.')
  if (body[0] !== 0) throw fail('invalid_payload', 'The message must not be compressed: its first byte must be 0.')
  return body.subarray(ENVELOPE_BYTES)
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
  body: Uint8Array | undefined,
  request: InProcessRequest | undefined,
): void {
  const { headers, trailers } = request ?? {}
  const response = call.response as Http2ServerResponse
  response.writeHead(200, { ...call.reply.getHeaders(), ...headers, 'content-type': TYPE } as OutgoingHttpHeaders)
  response.addTrailers({ ...trailers, ...status })
  if (body) response.write(body)
  response.end()
}
