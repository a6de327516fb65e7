import { Code, ConnectError } from '@connectrpc/connect'
import {
  codeToHttpStatus,
  codeToString,
  errorFromJsonBytes,
  errorToJsonBytes,
} from '@connectrpc/connect/protocol-connect'
import { findTrailerError, setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import { type ErrorReason, fail } from '../errors.ts'
import { type Call, shown } from './call.ts'

export interface RpcAnswer {
  status: number
  header?: Headers
  body?: AsyncIterable<Uint8Array>
  trailer?: Headers
}

/** What the protocol library refuses by itself, and the word for it. Others, such as a deadline, have a meaning of their own. */
const REASONS: { [code in Code]?: ErrorReason } = {
  [Code.InvalidArgument]: 'invalid_payload',
  // A message that is not Protobuf.
  [Code.Internal]: 'invalid_payload',
  [Code.ResourceExhausted]: 'payload_too_large',
}

/** Gives an error that comes from no code of ours, such as a message that does not parse, the word that every error carries. */
export function nameFaults(answer: RpcAnswer, call: Call): RpcAnswer {
  const named = { ...answer }
  if (call.protocol === 'connect') named.body = connectBody(answer, named, call)
  if (call.protocol === 'grpc') named.body = grpcBody(answer, call)
  return named
}

function nameFault(error: ConnectError | undefined, call: Call): ConnectError | undefined {
  if (!error || call.code !== 'ok') return undefined
  const reason = REASONS[error.code]
  call.code = reason ?? codeToString(error.code)
  return reason && shown(fail(reason, error.rawMessage), call)
}

/** Status and headers are read from `named` when the first bytes are there. */
async function* connectBody(answer: RpcAnswer, named: RpcAnswer, call: Call): AsyncGenerator<Uint8Array> {
  for await (const chunk of answer.body ?? []) {
    const failed = answer.status >= 400 && call.code === 'ok'
    const seen = failed ? nameFault(errorFromJsonBytes(chunk, undefined, UNREADABLE), call) : undefined
    if (!seen) yield chunk
    else {
      const bytes = errorToJsonBytes(seen, undefined)
      named.status = codeToHttpStatus(seen.code)
      named.header!.set('content-length', String(bytes.length))
      yield bytes
    }
  }
}

const UNREADABLE = new ConnectError('', Code.Unknown)

async function* grpcBody({ body, trailer }: RpcAnswer, call: Call): AsyncGenerator<Uint8Array> {
  yield* body ?? []
  if (!trailer) return
  const seen = nameFault(findTrailerError(trailer), call)
  if (seen) setTrailerStatus(trailer, seen)
  showMessage(trailer)
}

/** Writes the message of a status as gRPC does. */
export function showMessage(status: Headers): void {
  const message = status.get('grpc-message')
  if (message) status.set('grpc-message', percentEncoded(decodeURIComponent(message)))
}

/**
 * As the gRPC protocol over HTTP/2 defines Percent-Encoded: printable ASCII but "%" stays as it is. The library escapes as in a URL,
 * and clients that undo no more than they must show `%3A` and `%40` for ":" and "@".
 */
function percentEncoded(text: string): string {
  return text.replaceAll(/[^\x20-\x24\x26-\x7e]+/gu, encodeURIComponent)
}
