import { connect, type Socket } from 'node:net'
import { expectErrorBody } from './documented.ts'
import { KEY } from './gateway.ts'

// Requests to a gateway: by fetch, and as bytes on a connection. Each error response has the documented body.

export const MAIL = { to: 'ada@recipient.test', from: 'shop@example.test', subject: 'Hello', text: 'Hello Ada' }

export interface ApiResponse {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  json: any
  text: string
}

/** Sends one request with the key. Throws when an error response lacks the documented body. */
export async function ask(
  url: string,
  path: string,
  init: RequestInit & { key?: string | null } = {},
): Promise<ApiResponse> {
  const headers = new Headers(init.headers)
  const key = init.key === undefined ? KEY : init.key
  if (key !== null) headers.set('authorization', `Bearer ${key}`)
  const response = await fetch(url + path, { ...init, headers })
  const text = await response.text()
  const isJson = text !== '' && response.headers.get('content-type')?.startsWith('application/json')
  const json = isJson ? JSON.parse(text) : undefined
  if (response.status >= 400) expectErrorBody(response.status, json, response.headers.get('x-request-id'))
  return { status: response.status, headers: response.headers, json, text }
}

export function send(url: string, body: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  const type = { 'content-type': 'application/json', ...headers }
  return ask(url, '/api/v1/emails/send', { method: 'POST', body: text as string, headers: type })
}

/** Writes bytes on a new connection and returns the response. */
export async function talk(port: number, bytes: string | Buffer, quietMs = 20_000, enough = isWhole): Promise<string> {
  const socket = await open(port)
  socket.write(bytes)
  return receive(socket, quietMs, enough)
}

export async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  return socket
}

/** Reads until `enough`, or until the connection is closed or quiet. */
export function receive(socket: Socket, quietMs = 20_000, enough = isWhole): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const done = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(text)
    }
    let timer = setTimeout(done, quietMs)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      clearTimeout(timer)
      if (enough(text)) done()
      else timer = setTimeout(done, quietMs)
    })
    socket.once('close', done)
  })
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  const length = /content-length: (\d+)/i.exec(text.slice(0, end))?.[1]
  return end !== -1 && length !== undefined && text.length >= end + 4 + Number(length)
}

/** The first response in the received text, checked like every other. */
export function firstResponse(received: string) {
  const [head = '', rest = ''] = received.split('\r\n\r\n', 2)
  // What follows it on the connection begins with another head.
  const body = rest.slice(0, Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? rest.length))
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1])
  const json = body !== '' && /^content-type: application\/json/im.test(head) ? JSON.parse(body) : undefined
  // 503 is a status of /readyz only, and not an error.
  if (status >= 400 && status !== 503) expectErrorBody(status, json, /x-request-id: (.*)/i.exec(head)?.[1])
  return { status, json, head }
}
