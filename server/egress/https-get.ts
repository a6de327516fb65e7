import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { cleanText } from '../clean-text.ts'
import { createDial, type NotDialled } from './dial.ts'
import type { Guard } from './guard.ts'
import type { Lookup } from './lookup.ts'

/** `cause` is in words that end "The text could not be fetched: ". */
export type Got = { kind: 'got'; text: string } | { kind: 'failed'; cause: string }

/** Never rejects. The time is the signal's. */
export type HttpsGet = (host: string, path: string, signal: AbortSignal) => Promise<Got>

interface HttpsGetOptions {
  lookup: Lookup
  /** Every address of a host has to pass. */
  mayDial: Guard
  port?: number
}

const MAX_OCTETS = 64 * 1_024
const MAX_HEAD_OCTETS = 16 * 1_024
/** Answers of 1xx: a flood of them would cost us more than its sender. */
const MAX_INTERIM = 10

const CAUSES: Record<NotDialled['kind'], (host: string) => string> = {
  dns: (host) => `${host} has no address`,
  blocked: (host) => `${host} leads to an address that may not be dialled`,
  connect: (host) => `${host} could not be reached`,
  tls: (host) => `${host} has no TLS with a certificate that is trusted and names it`,
}

/**
 * GET of one short text over HTTPS, from vetted addresses only and without proxy: status 200, text/plain, at most 64 KiB. Nothing
 * else is followed, repaired or cached.
 */
export function createHttpsGet({ lookup, mayDial, port = 443 }: HttpsGetOptions): HttpsGet {
  const dial = createDial({ lookup })

  return async (host, path, signal) => {
    const authority = port === 443 ? host : `${host}:${port}`
    const origin = `https://${authority}`
    const dialled = await dial({ protocol: 'https:', host, port, origin, path, mayDial }, signal)
    if (dialled.kind !== 'dialled') return failed(CAUSES[dialled.kind](host))
    const { socket } = dialled
    try {
      return await exchange(socket, authority, path, signal)
    } catch (error) {
      return failed(`${host} ${signal.aborted ? 'gave no whole answer in time' : `broke off (${codeOf(error)})`}`)
    } finally {
      socket.destroy()
    }
  }
}

async function exchange(socket: Socket, host: string, path: string, signal: AbortSignal): Promise<Got> {
  const headers = { host, accept: 'text/plain', 'accept-encoding': 'identity' }
  const asked = request({ createConnection: () => socket, path, headers, signal, maxHeaderSize: MAX_HEAD_OCTETS })
  // The first error rejects below; whatever comes after it is of no interest.
  asked.on('error', () => {})
  let interim = 0
  asked.on('information', () => {
    if (++interim > MAX_INTERIM) asked.destroy(new Error('a flood of interim answers'))
  })
  asked.end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const fault = faultOf(answer)
  if (fault !== undefined) return failed(`${host} answered ${fault}`)
  const chunks: Buffer[] = []
  let octets = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
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

function failed(cause: string): Got {
  return { kind: 'failed', cause }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'no HTTP'
}
