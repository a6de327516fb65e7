import type { ConnectError } from '@connectrpc/connect'
import {
  codeToHttpStatus,
  contentTypeRegExp,
  errorToJsonBytes,
  parseContentType,
} from '@connectrpc/connect/protocol-connect'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { reasonOf } from '../../errors.ts'
import { type Call, shown } from '../call.ts'
import { sendError } from '../rest/rest-response.ts'
import { endEnvelope, setStatus } from './rpc-faults.ts'

/** The protocol of a call to the path of a method, by its Content-Type. */
export function protocolOf(type = ''): Exclude<Call['protocol'], 'rest'> {
  if (/^application\/grpc-web/i.test(type)) return 'grpc-web'
  return /^application\/grpc/i.test(type) ? 'grpc' : 'connect'
}

/** Whether a call is gRPC or gRPC-Web: a POST with their Content-Type. Paths of REST speak REST only. */
export const isGrpc = ({ raw }: Call) =>
  raw.method === 'POST' && protocolOf(raw.headers['content-type']) !== 'connect' && !raw.url?.startsWith('/api/')

/** Names the compression that is accepted. Every response of gRPC and gRPC-Web has this header. */
export function tellEncodings({ protocol, reply }: Call): void {
  if (protocol === 'grpc' || protocol === 'grpc-web') reply.header('grpc-accept-encoding', 'gzip')
}

/**
 * Refuses a call in the protocol of its caller, before the protocol library handles it: a refusal costs a tenth of a
 * call. A caller that speaks none of the protocols gets the body of REST.
 */
export function refuseRpc(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { call } = request
  const { raw } = call
  const type = raw.headers['content-type'] ?? ''
  const protocol = protocolOf(type)
  call.protocol = protocol
  tellEncodings(call)
  const isKnown = protocol !== 'connect' || raw.method === 'GET' || contentTypeRegExp.test(type)
  // A browser that a stranger's name led here gets the status of HTTP: the protocols have none for it.
  if (!isKnown || reasonOf(error) === 'wrong_host') {
    sendError(error, request, reply)
    return
  }
  const visible = shown(error, call)
  if (call.left) reply.hijack()
  else if (protocol !== 'connect') refuseGrpc(visible, protocol, reply)
  else if (parseContentType(type)?.stream) refuseStream(visible, type, reply)
  else refuseUnary(visible, reply)
}

function refuseUnary(error: ConnectError, reply: FastifyReply): void {
  reply.code(codeToHttpStatus(error.code)).headers(Object.fromEntries(error.metadata)).type('application/json')
  reply.send(Buffer.from(errorToJsonBytes(error, undefined)))
}

/** A stream of Connect always has the status 200, and its last message says how it ended. */
function refuseStream(error: ConnectError, type: string, reply: FastifyReply): void {
  reply.code(200).type(type).send(endEnvelope(error.metadata, error))
}

/** `Trailers-Only` of gRPC and gRPC-Web: the status is in the headers, which also end the stream. */
function refuseGrpc(error: ConnectError, protocol: 'grpc' | 'grpc-web', reply: FastifyReply): void {
  const status = setStatus(new Headers(reply.getHeaders() as Record<string, string>), error)
  // Not `send`, which writes an empty body: gRPC takes that for a stream without a status.
  reply.hijack()
  const { raw } = reply
  raw.setHeader('content-type', protocol === 'grpc' ? 'application/grpc' : 'application/grpc-web+proto')
  for (const [name, value] of status) raw.setHeader(name, value)
  raw.end()
}
