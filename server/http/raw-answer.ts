import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { ErrorReason } from '../errors.ts'
import { fail } from '../errors.ts'
import { errorBody } from './answer.ts'

const PHRASES: Record<number, string> = { 400: 'Bad Request', 405: 'Method Not Allowed' }

/** Answers on a connection whose bytes never became a request, with the body every error has, and closes it. */
export function answerRaw(socket: Duplex, reason: ErrorReason, message: string): void {
  if (!socket.writable) return void socket.destroy()
  const id = randomUUID()
  const { status, body } = errorBody(fail(reason, message), id)
  const text = JSON.stringify(body)
  const head = [
    `HTTP/1.1 ${status} ${PHRASES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-Id: ${id}`,
    'Connection: close',
  ]
  // Its other end may still be writing: what it writes is thrown away until it has read this.
  socket.on('error', () => socket.destroy())
  socket.resume()
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
  setTimeout(() => socket.destroy(), 1_000).unref()
}

const MESSAGES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The headers are larger than 16 KiB.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
  HPE_INVALID_CONTENT_LENGTH: 'The Content-Length is not a number.',
  HPE_UNEXPECTED_CONTENT_LENGTH: 'The Content-Length is given twice, or beside Transfer-Encoding.',
}

/** What a parser's error is called in words. */
export function parserMessage(code: string | undefined): string {
  return MESSAGES[code ?? ''] ?? 'This is not a valid HTTP request.'
}
