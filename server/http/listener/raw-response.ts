import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ConnectError } from '@connectrpc/connect'
import { fail } from '../../errors.ts'
import { NO_SNIFF, type RawResponse } from '../call.ts'
import { errorBody, jsonText } from '../rest/rest-response.ts'
import { TOO_LARGE_HEADERS } from './header-fault.ts'

const PHRASES: Record<number, string> = { 400: 'Bad Request', 405: 'Method Not Allowed' }

/**
 * Refuses a request before it becomes a call, with the body of every error, in the order of its connection's requests.
 */
export function refuseRequest(response: RawResponse, message: string): void {
  const { status, headers, text } = errorParts(fail('invalid_payload', message), randomUUID())
  // The responses of HTTP/1.1 and HTTP/2 both accept these, but their types have no common signature.
  ;(response as ServerResponse).writeHead(status, headers).end(text)
}

/**
 * Writes an error response to a connection whose bytes are not a request, with the body of every error, and closes it.
 */
export function respondRaw(socket: Duplex, fault: ConnectError, id: string = randomUUID()): void {
  if (!socket.writable) return void socket.destroy()
  const { status, headers, text } = errorParts(fault, id)
  const fields = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}`)
  // The caller may still be writing: its bytes are discarded until it has read the response.
  socket.on('error', () => socket.destroy())
  socket.resume()
  socket.end(`HTTP/1.1 ${status} ${PHRASES[status]}\r\n${fields.join('\r\n')}\r\n\r\n${text}`)
  setTimeout(() => socket.destroy(), 1_000).unref()
}

function errorParts(fault: ConnectError, id: string) {
  const { status, body } = errorBody(fault, id)
  const { text, headers } = jsonText(body)
  return { status, text, headers: { ...headers, ...NO_SNIFF, 'x-request-id': id } }
}

const MESSAGES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: TOO_LARGE_HEADERS,
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
  HPE_INVALID_CONTENT_LENGTH: 'The Content-Length is not a number.',
  HPE_INVALID_TRANSFER_ENCODING: 'The only Transfer-Encoding that is read is chunked.',
  HPE_UNEXPECTED_CONTENT_LENGTH: 'Content-Length occurs twice. Send it once.',
  HPE_INVALID_CHUNK_SIZE: 'The body is not in valid chunks.',
  HPE_INVALID_EOF_STATE: 'The request ends before it is complete.',
}

const BESIDE_CHUNKED = 'Content-Length occurs beside Transfer-Encoding. Send one of the two.'

/** The message for an error of the parser, whose codes do not tell all faults apart. */
export function parserMessage({ code = '', message }: NodeJS.ErrnoException): string {
  if (message.includes("can't be present with")) return BESIDE_CHUNKED
  return MESSAGES[code] ?? 'This is not a valid HTTP request.'
}
