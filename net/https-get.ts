import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { cleanText } from './clean-text.ts'
import { createDial, type DialFailure } from './dial.ts'
import type { Guard } from './guard.ts'
import type { Lookup } from './lookup.ts'

/** `cause` is the end of a sentence that begins "The text could not be fetched: ". */
export type HttpsGetResult = { kind: 'got'; text: string } | { kind: 'failed'; cause: string }

/** Never rejects. The signal sets the timeout. */
export type HttpsGet = (host: string, path: string, signal: AbortSignal) => Promise<HttpsGetResult>

interface HttpsGetOptions {
  lookup: Lookup
  /** Every address of a host must pass. */
  mayDial: Guard
  port?: number
}

const MAX_OCTETS = 64 * 1_024
const MAX_HEAD_OCTETS = 16 * 1_024
/** The most 1xx responses: a flood of them would cost us more than its sender. */
const MAX_INTERIM = 10

const CAUSES: Record<DialFailure['kind'], (host: string) => string> = {
  dns: (host) => `${host} has no address`,
  blocked: (host) => `${host} leads to an address that may not be dialled`,
  connect: (host) => `${host} could not be reached`,
  local: (host) => `${host} could not be tried, by a fault of this service`,
  tls: (host) => `${host} has no TLS with a certificate that is trusted and names it`,
}

/**
 * Gets one short text over HTTPS, from vetted addresses only and without a proxy: status 200, text/plain, at most
 * 64 KiB. It follows, repairs and caches nothing.
 */
export function createHttpsGet({ lookup, mayDial, port = 443 }: HttpsGetOptions): HttpsGet {
  const dial = createDial({ lookup })

  return async (host, path, signal) => {
    const authority = port === 443 ? host : `${host}:${port}`
    const origin = `https://${authority}`
    const connection = await dial({ protocol: 'https:', host, port, origin, path, mayDial }, signal)
    if (connection.kind !== 'dialled') return failed(CAUSES[connection.kind](host))
    const { socket } = connection
    try {
      return await exchange(socket, authority, path, signal)
    } catch (error) {
      return failed(`${host} ${signal.aborted ? 'gave no whole answer in time' : `broke off (${codeOf(error)})`}`)
    } finally {
      socket.destroy()
    }
  }
}

async function exchange(socket: Socket, host: string, path: string, signal: AbortSignal): Promise<HttpsGetResult> {
  const headers = { host, accept: 'text/plain', 'accept-encoding': 'identity' }
  const getRequest = request({ createConnection: () => socket, path, headers, signal, maxHeaderSize: MAX_HEAD_OCTETS })
  // The first error rejects below; later ones do not matter.
  getRequest.on('error', () => {})
  let interim = 0
  getRequest.on('information', () => {
    if (++interim > MAX_INTERIM) getRequest.destroy(new Error('a flood of interim answers'))
  })
  getRequest.end()
  const [response] = (await once(getRequest, 'response')) as [IncomingMessage]
  const fault = faultOf(response)
  if (fault !== undefined) return failed(`${host} answered ${fault}`)
  const chunks: Buffer[] = []
  let octets = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    octets += chunk.length
    if (octets > MAX_OCTETS) return failed(`${host} answered more than ${MAX_OCTETS} octets`)
    chunks.push(chunk)
  }
  return { kind: 'got', text: cleanText(Buffer.concat(chunks).toString(), { keep: '\r\n\t' }) }
}

function faultOf({ statusCode, headers }: IncomingMessage): string | undefined {
  if (statusCode !== 200) return `with status ${statusCode}`
  if (!/^text\/plain[ \t]*(;|$)/i.test(headers['content-type'] ?? '')) return 'something that is not text/plain'
  const encoding = headers['content-encoding'] ?? 'identity'
  return encoding.toLowerCase() === 'identity' ? undefined : 'an encoding that was not asked for'
}

function failed(cause: string): HttpsGetResult {
  return { kind: 'failed', cause }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'no HTTP'
}
