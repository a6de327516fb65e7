import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import { connect, type Socket } from 'node:net'
import { letArrive, within } from '../../harness/waits.ts'

export interface Body {
  path: string
  type: string
  bytes: Buffer
  headers?: Record<string, string>
}

/** Posts a body on a new connection. Resolves with the status, or 0 when there was no response. */
export async function post(url: string, key: string, { path, type, bytes, headers }: Body): Promise<number> {
  const options = { method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': type, ...headers } }
  const request = http.request(url + path, { ...options, agent: false })
  request.setHeader('content-length', bytes.length)
  // The server may refuse the request before it has read the whole body.
  request.on('error', () => {})
  request.end(bytes)
  try {
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.resume()
    await once(response, 'close')
    return response.statusCode!
  } catch {
    return 0
  }
}

/** Calls a unary gRPC method with an encoded message. Resolves with the gRPC status. */
export async function callGrpc(url: string, key: string, path: string, message: Buffer): Promise<number> {
  const session = http2.connect(url)
  session.on('error', () => {})
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${key}`,
  })
  stream.on('error', () => {})
  let status = -1
  const readStatus = (headers: http2.IncomingHttpHeaders) => {
    if (headers['grpc-status'] !== undefined) status = Number(headers['grpc-status'])
  }
  stream.on('response', readStatus).on('trailers', readStatus)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  stream.write(head)
  stream.end(message)
  stream.resume()
  await once(stream, 'close')
  session.destroy()
  return status
}

/** Sends the head of a send of 14 MiB, then 100 KB a second, until the connection is closed. */
export async function uploadSlowly(url: string, key: string) {
  const { hostname, port } = new URL(url)
  const socket: Socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => {})
  socket.resume()
  await once(socket, 'connect')
  socket.write(`POST /api/v1/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`)
  socket.write(`Content-Type: application/json\r\nContent-Length: ${14 * 2 ** 20}\r\n\r\n{`)
  const drip = setInterval(() => socket.write(' '.repeat(10_000)), 100)
  socket.once('close', () => clearInterval(drip))
  return () => socket.destroy()
}

/**
 * Sends with an idempotency key. Leaves as soon as the body is written, or after 300 ms when the server does not read
 * it.
 */
export async function sendAndHangUp(url: string, key: string, idempotencyKey: string, body: string) {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(`POST /api/v1/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`)
  socket.write(
    `Idempotency-Key: ${idempotencyKey}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  const upload = new Promise((resolve) => socket.write(body, resolve))
  await within(300, upload, undefined)
  await letArrive(50)
  socket.destroy()
  return () => socket.destroy()
}
