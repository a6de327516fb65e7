import type { ConnectError } from '@connectrpc/connect'
import {
  createAsyncIterable,
  type UniversalHandler,
  type UniversalHandlerFn,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol'
import { fail } from '../../errors.ts'
import { type Call, callOf, shown, UNANSWERED } from '../call.ts'
import { errorBody, jsonText } from '../rest/rest-response.ts'
import { grpcTimeoutMs, isEndless } from './grpc-timeout.ts'
import { encodingOf } from './rpc-body.ts'
import { nameFaults } from './rpc-faults.ts'

/** Wraps a handler of the protocol library: its errors carry our error codes, and it throws `UNANSWERED` alone. */
export function createGuardedHandler(handler: UniversalHandler): UniversalHandler {
  const guarded: UniversalHandlerFn = async (request) => {
    const call = callOf(request.contextValues)
    const header = withoutEncoding(withoutEndlessDeadline(request.header), call)
    const response = await handler({ ...request, header, signal: call.signal })
      .catch((error) => errorResponse(error, call))
      // The work has ended: nothing holds what it read, however slowly its caller takes the response.
      .finally(() => call.release?.())
    if (call.left) throw abandoned(call)
    const isBare = response.status >= 400 && response.body === undefined
    return isBare ? errorResponse(bareRefusal(response.status, handler), call) : relayed(response, call)
  }
  return Object.assign(guarded, handler)
}

/** Drops a deadline that no timer can hold. The library would treat it as already passed. */
function withoutEndlessDeadline(headers: Headers): Headers {
  const grpcMs = grpcTimeoutMs(headers.get('grpc-timeout') ?? '')
  if (isEndless(Number(headers.get('connect-timeout-ms')))) headers.delete('connect-timeout-ms')
  if (grpcMs !== undefined && isEndless(grpcMs)) headers.delete('grpc-timeout')
  return headers
}

/** Drops what describes the body of a unary call of Connect that `requestBody` has unpacked. */
function withoutEncoding(headers: Headers, call: Call): Headers {
  if (call.protocol !== 'connect' || call.method?.methodKind !== 'unary' || encodingOf(call) !== 'gzip') return headers
  headers.delete('content-encoding')
  headers.delete('content-length')
  return headers
}

/** The error for a refusal that the protocols express by a status alone. */
function bareRefusal(status: number, { method }: UniversalHandler): ConnectError {
  if (status === 415) return fail('unsupported_media_type', 'The Content-Type is none of Connect, gRPC or gRPC-Web.')
  return fail('invalid_payload', `${method.name} is not served in this way (${status}).`)
}

/** An error with the body of REST. Throws when no response may follow. */
function errorResponse(error: unknown, call: Call): UniversalServerResponse {
  const visible = shown(error, call)
  if (call.left) throw abandoned(call)
  const { status, body } = errorBody(visible, call.id)
  const { text, headers } = jsonText(body)
  return { status, header: new Headers(headers), body: createAsyncIterable([Buffer.from(text)]) }
}

/** A response whose errors carry our error codes, and whose connection is closed when its body fails. */
function relayed(response: UniversalServerResponse, call: Call): UniversalServerResponse {
  const named = nameFaults(response, call)
  const { body } = named
  if (body) named.body = closingOnFailure(body, call)
  return named
}

async function* closingOnFailure(body: AsyncIterable<Uint8Array>, call: Call): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    if (!call.left) shown(error, call)
    call.response.destroy()
    throw abandoned(call)
  }
}

/** Keeps Fastify from sending its own response. */
function abandoned(call: Call): ConnectError {
  call.reply.hijack()
  return UNANSWERED
}
