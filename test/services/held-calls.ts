import { once } from 'node:events'
import { globSync } from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { DescFile, DescMethod } from '@bufbuild/protobuf'
import { ConnectError } from '@connectrpc/connect'
import { encodeEnvelope } from '@connectrpc/connect/protocol'
import { errorFromJsonBytes } from '@connectrpc/connect/protocol-connect'
import { findTrailerError } from '@connectrpc/connect/protocol-grpc'
import { reasonOf } from '../../server/errors.ts'
import { bindingsOf } from '../../server/http/rest/bindings.ts'

// Calls whose head arrives first, and whose body follows when a test wants it to.

export const PROTOCOLS = ['REST', 'Connect', 'gRPC', 'gRPC-Web'] as const
export type Protocol = (typeof PROTOCOLS)[number]

export const nameOf = ({ parent, name }: DescMethod) => `${parent.typeName}/${name}`

/** Every method of both contracts that a server serves. */
export async function servedMethods(url: string): Promise<DescMethod[]> {
  const paths = globSync(['gen/verdict/v1/*_pb.ts', 'gen/verdict/admin/v1/*_pb.ts'])
  const modules = await Promise.all(paths.map((path) => import(join(process.cwd(), path))))
  const files = modules.flatMap((module) => Object.values(module).filter(isFile))
  const all = files.flatMap((file) => file.services).flatMap((service) => service.methods)
  const statuses = await Promise.all(all.map((method) => fetch(`${url}/${nameOf(method)}`, { method: 'POST' })))
  return all.filter((_, i) => statuses[i]!.status !== 404)
}

function isFile(value: unknown): value is DescFile {
  return (value as { kind?: unknown }).kind === 'file'
}

export interface HeldRequest {
  name: string
  method: DescMethod
  protocol: Protocol
  verb: string
  path: string
  type: string
  body: Buffer
}

/** The requests with a body by which a protocol calls a method: none for a GET of REST. Their message is empty. */
export function requestsOf(method: DescMethod, protocol: Protocol): HeldRequest[] {
  const base = { name: `${protocol} ${nameOf(method)}`, method, protocol, verb: 'POST', path: `/${nameOf(method)}` }
  const isStream = method.methodKind !== 'unary'
  if (protocol === 'gRPC') return [{ ...base, type: 'application/grpc', body: envelope('') }]
  if (protocol === 'gRPC-Web') return [{ ...base, type: 'application/grpc-web+proto', body: envelope('') }]
  if (protocol === 'Connect' && isStream) return [{ ...base, type: 'application/connect+json', body: envelope('{}') }]
  const json = { type: 'application/json', body: Buffer.from('{}') }
  if (protocol === 'Connect') return [{ ...base, ...json }]
  const binding = bindingsOf([method.parent]).find((one) => one.method === method)
  if (!binding || binding.verb === 'GET') return []
  return [{ ...base, ...json, verb: binding.verb, path: binding.path.replaceAll(/\{[^}]*\}/g, 'x') }]
}

const envelope = (message: string) => Buffer.from(encodeEnvelope(0, Buffer.from(message)))

export interface Held {
  /** Sends the body. Returns the error code of the response, or `ok`. */
  finish(): Promise<string>
  /** Sends no body, and returns the error code of the response. */
  refused(): Promise<string>
}

interface Answer {
  headers: Headers
  trailers: Headers
  body: Buffer
}

/** Sends the head of a call. Resolves when the server has admitted it and waits for its body. */
export async function holdBack(
  url: string,
  request: HeldRequest,
  { 'content-type': _, ...more }: Record<string, string>,
): Promise<Held> {
  const { protocol, verb, path, type, body } = request
  const headers = {
    ...more,
    'content-type': type,
    'content-length': String(body.length),
    expect: '100-continue',
    ...(protocol === 'Connect' && { 'connect-protocol-version': '1' }),
  }
  const opened = protocol === 'gRPC' ? openHttp2(url, path, headers) : openHttp1(url, verb, path, headers)
  const answer = opened.answer.then((answer) => codeOf(protocol, answer))
  const early = await Promise.race([opened.admitted, answer])
  if (early !== undefined) throw new Error(`${request.name}: ${early} before its body`)
  return {
    finish() {
      opened.end(body)
      return answer
    },
    refused: () => answer,
  }
}

interface Opened {
  admitted: Promise<undefined>
  answer: Promise<Answer>
  end(body: Buffer): void
}

function openHttp1(url: string, method: string, path: string, headers: Record<string, string>): Opened {
  const request = http.request(url + path, { method, headers, agent: false })
  const answer = async (): Promise<Answer> => {
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    const isStream = response.headers['content-type'] === 'application/connect+json'
    const body = await (isStream ? firstEnvelopes(response) : bytesOf(response))
    return { headers: headersOf(response.headers), trailers: headersOf(response.trailers), body }
  }
  const opened = { admitted: once(request, 'continue').then(() => undefined), answer: answer() }
  request.flushHeaders()
  return { ...opened, end: (body) => void request.end(body) }
}

function openHttp2(url: string, path: string, headers: Record<string, string>): Opened {
  const session = http2.connect(url)
  const stream = session.request({ ':method': 'POST', ':path': path, te: 'trailers', ...headers })
  const trailers = new Promise<object>((resolve) => {
    stream.once('trailers', resolve)
    stream.once('close', () => resolve({}))
  })
  const answer = async (): Promise<Answer> => {
    const [response] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    const body = await bytesOf(stream)
    session.close()
    return { headers: headersOf(response), trailers: headersOf(await trailers), body }
  }
  const opened = { admitted: once(stream, 'continue').then(() => undefined), answer: answer() }
  return { ...opened, end: (body) => void stream.end(body) }
}

/** The first message of a stream, which may go on for ever, or its end when it has none. */
async function firstEnvelopes(stream: Readable): Promise<Buffer> {
  for await (const chunk of stream) return chunk
  return Buffer.alloc(0)
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const headersOf = (headers: object) =>
  new Headers(Object.entries(headers as Record<string, string>).filter(([name]) => !name.startsWith(':')))

/** The error code of a response in its protocol. A status without an error code is named by its number. */
function codeOf(protocol: Protocol, { headers, trailers, body }: Answer): string {
  if (protocol === 'REST') return JSON.parse(body.toString() || '{}').error ?? 'ok'
  if (protocol === 'Connect') return codeOfConnect(headers, body)
  const status = [headers, trailers, trailersOfWeb(body)].find((status) => status.has('grpc-status'))
  const error = status && findTrailerError(status)
  if (error === undefined) return status ? 'ok' : 'no status'
  return reasonOf(error) ?? `status ${error.code}`
}

function codeOfConnect(headers: Headers, body: Buffer): string {
  const isStream = headers.get('content-type') === 'application/connect+json'
  const end = isStream
    ? JSON.parse(body.subarray(5, 5 + body.readUInt32BE(1)).toString()).error
    : JSON.parse(body.toString())
  if (typeof end?.code !== 'string') return 'ok'
  const error = errorFromJsonBytes(Buffer.from(JSON.stringify(end)), undefined, new ConnectError('unreadable'))
  return reasonOf(error) ?? end.code
}

/** The trailers that gRPC-Web writes into the body, after a flag and their length. */
function trailersOfWeb(body: Buffer): Headers {
  for (let at = 0; at + 5 <= body.length; at += 5 + body.readUInt32BE(at + 1)) {
    if ((body[at]! & 0x80) === 0) continue
    const lines = body
      .subarray(at + 5)
      .toString('latin1')
      .trim()
      .split('\r\n')
    return new Headers(
      lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
    )
  }
  return new Headers()
}
