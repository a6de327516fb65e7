import { Code, ConnectError } from '@connectrpc/connect'
import type { UniversalServerResponse } from '@connectrpc/connect/protocol'
import {
  codeToHttpStatus,
  codeToString,
  endStreamFlag,
  endStreamFromJson,
  endStreamToJson,
  errorFromJsonBytes,
  errorToJsonBytes,
} from '@connectrpc/connect/protocol-connect'
import { findTrailerError, setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import { type ErrorReason, fail } from '../../errors.ts'
import { type Call, shown } from '../call.ts'
import { ENVELOPE_BYTES } from './rpc-body.ts'

/**
 * Our error codes for what the protocol library refuses. Its other errors, such as a deadline, have a meaning of their
 * own.
 */
const REASONS: { [code in Code]?: ErrorReason } = {
  [Code.InvalidArgument]: 'invalid_payload',
  // A message that is not Protobuf.
  [Code.Internal]: 'invalid_payload',
  [Code.ResourceExhausted]: 'payload_too_large',
}

/** Adds our error code to an error of the protocol library, such as a message that does not parse. */
export function nameFaults(response: UniversalServerResponse, call: Call): UniversalServerResponse {
  const named = { ...response }
  if (call.protocol === 'connect') {
    named.body =
      call.method?.methodKind === 'unary' ? connectBody(response, named, call) : connectStreamBody(response, call)
  }
  if (call.protocol === 'grpc') named.body = grpcBody(response, call)
  return named
}

function nameFault(error: ConnectError | undefined, call: Call): ConnectError | undefined {
  if (!error || call.code !== 'ok') return undefined
  const reason = REASONS[error.code]
  call.code = reason ?? codeToString(error.code)
  return reason && shown(fail(reason, error.rawMessage), call)
}

/** Status and headers are read from `named` when the first bytes are there. */
async function* connectBody(
  response: UniversalServerResponse,
  named: UniversalServerResponse,
  call: Call,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of response.body ?? []) {
    const failed = response.status >= 400 && call.code === 'ok'
    const visible = failed ? nameFault(errorFromJsonBytes(chunk, undefined, UNREADABLE), call) : undefined
    if (!visible) yield chunk
    else {
      const bytes = errorToJsonBytes(visible, undefined)
      named.status = codeToHttpStatus(visible.code)
      named.header?.set('content-length', String(bytes.length))
      yield bytes
    }
  }
}

/**
 * The last message of a stream says how it ended. The library compresses no message as short as an error, so it can be
 * read here.
 */
async function* connectStreamBody({ body }: UniversalServerResponse, call: Call): AsyncGenerator<Uint8Array> {
  for await (const chunk of body ?? []) {
    const end = chunk[0] === endStreamFlag ? endStreamFromJson(chunk.subarray(ENVELOPE_BYTES)) : undefined
    const visible = nameFault(end?.error, call)
    yield end && visible ? endEnvelope(end.metadata, visible) : chunk
  }
}

/** The last message of a stream of Connect. */
export function endEnvelope(metadata: Headers, error: ConnectError | undefined): Buffer {
  const message = Buffer.from(JSON.stringify(endStreamToJson(metadata, error, undefined)))
  const head = Buffer.alloc(ENVELOPE_BYTES)
  head.writeUInt8(endStreamFlag)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

const UNREADABLE = new ConnectError('', Code.Unknown)

async function* grpcBody({ body, trailer }: UniversalServerResponse, call: Call): AsyncGenerator<Uint8Array> {
  yield* body ?? []
  if (!trailer) return
  const visible = nameFault(findTrailerError(trailer), call)
  if (visible) setTrailerStatus(trailer, visible)
  showMessage(trailer)
}

/** Adds the status of an error, as gRPC writes it, to headers or trailers. */
export function setStatus(headers: Headers, error: ConnectError): Headers {
  setTrailerStatus(headers, error)
  showMessage(headers)
  return headers
}

function showMessage(status: Headers): void {
  const message = status.get('grpc-message')
  if (message) status.set('grpc-message', percentEncoded(decodeURIComponent(message)))
}

/**
 * Escapes as the gRPC protocol over HTTP/2 defines Percent-Encoded: printable ASCII other than "%" stays as it is. The
 * library escapes as in a URL, and clients that decode by the protocol alone would show `%3A` and `%40` for ":" and
 * "@".
 */
function percentEncoded(text: string): string {
  return text.replaceAll(/[^\x20-\x24\x26-\x7e]+/gu, encodeURIComponent)
}
