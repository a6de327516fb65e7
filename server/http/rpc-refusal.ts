import type { ConnectError } from '@connectrpc/connect'
import {
  codeToHttpStatus,
  contentTypeRegExp,
  endStreamFlag,
  endStreamToJson,
  errorToJsonBytes,
  parseContentType,
} from '@connectrpc/connect/protocol-connect'
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc'
import { answer, answerError } from './answer.ts'
import { type Call, shown } from './call.ts'
import { showMessage } from './rpc-faults.ts'

/**
 * Refuses a call in the protocol of its caller, before the protocol library sees it: a refusal costs a tenth of a call. A caller that
 * speaks no protocol of ours gets the body of REST.
 */
export function refuseRpc(error: unknown, call: Call): void {
  const type = call.raw.headers['content-type'] ?? ''
  const speaksOurs = call.protocol !== 'connect' || call.raw.method === 'GET' || contentTypeRegExp.test(type)
  if (!speaksOurs) {
    answerError(error, call)
    return
  }
  const seen = shown(error, call)
  if (call.left) return
  if (call.protocol !== 'connect') refuseGrpc(seen, call)
  else if (parseContentType(type)?.stream) refuseStream(seen, type, call)
  else answer(call, codeToHttpStatus(seen.code), 'application/json', errorJson(seen), Object.fromEntries(seen.metadata))
}

const errorJson = (error: ConnectError) => Buffer.from(errorToJsonBytes(error, undefined))

/** A stream of Connect always has the status 200 and says in its last message how it ended. */
function refuseStream(error: ConnectError, type: string, call: Call): void {
  const message = Buffer.from(JSON.stringify(endStreamToJson(error.metadata, error, undefined)))
  const head = Buffer.alloc(5)
  head.writeUInt8(endStreamFlag)
  head.writeUInt32BE(message.length, 1)
  answer(call, 200, type, Buffer.concat([head, message]))
}

/** `Trailers-Only` of gRPC and gRPC-Web: the status in the headers, which also end the stream. */
function refuseGrpc(error: ConnectError, { headers, protocol, response }: Call): void {
  const status = setTrailerStatus(new Headers(headers), error)
  showMessage(status)
  response.setHeader('content-type', protocol === 'grpc' ? 'application/grpc' : 'application/grpc-web+proto')
  for (const [name, value] of status) response.setHeader(name, value)
  // Not `writeHead`, after which an empty body would follow: gRPC takes that for a stream without a status.
  response.end()
}
