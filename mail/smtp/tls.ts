import { isIP, type Socket } from 'node:net'
import { connect, createSecureContext, DEFAULT_CIPHERS, type SecureContext, type TLSSocket } from 'node:tls'
import { createBoundedMap } from '../../net/bounded-map.ts'
import { cleanText } from '../../net/clean-text.ts'
import { createAlarm } from './alarm.ts'
import type { Site, TlsDemand } from './attempt.ts'

export interface TlsState {
  version: string
  /** The certificate is valid, trusted and names the exchanger. Required only at a site that demands TLS. */
  verified: boolean
}

export interface SecuredSocket {
  socket: Socket
  tls: TlsState
  /** Why the certificate is not verified, such as CERT_HAS_EXPIRED. */
  flaw?: string
}

export type TlsUpgrade = ({ kind: 'upgraded' } & SecuredSocket) | { kind: 'failed'; detail: string }

/**
 * Contexts for TLS 1.2 or later. Where TLS is not demanded, a weak or foreign certificate is still better than
 * cleartext, which would be used instead.
 */
export function createTlsContexts() {
  const minVersion = 'TLSv1.2'
  return {
    demanded: createSecureContext({ minVersion }),
    opportunistic: createSecureContext({ minVersion, ciphers: `${DEFAULT_CIPHERS}:@SECLEVEL=0` }),
  }
}

/** The site with the demand for verified TLS. It shares no connections with the site without that demand. */
export function demandTls(site: Site, by: TlsDemand): Site {
  return site.tlsDemandedBy ? site : { ...site, key: `${site.key} for ${by}`, name: site.key, tlsDemandedBy: by }
}

interface Handshake {
  /** The exchanger's name, for SNI and for the check of its certificate. */
  name: string
  secureContext: SecureContext
  untilMs: number
  signal?: AbortSignal
}

/** The handshake of STARTTLS (RFC 3207) on a connected socket without other listeners; a failure closes the socket. */
export function upgradeToTls(socket: Socket, handshake: Handshake): Promise<TlsUpgrade> {
  const { name, secureContext, untilMs, signal } = handshake
  return new Promise((resolve) => {
    const servername = isIP(name) === 0 ? name : undefined
    const tlsSocket = connect({ socket, host: name, servername, secureContext, rejectUnauthorized: false })
    // A bare timer may fire early; the caller then decides whose time is over, and must find it over.
    const alarm = createAlarm(() => fail('no handshake in time'))
    alarm.set(untilMs)
    const fail = (detail: string) => {
      end()
      tlsSocket.destroy()
      resolve({ kind: 'failed', detail: cleanText(detail) })
    }
    const onError = (error: NodeJS.ErrnoException) => fail(error.code ?? error.message)
    const onClose = () => fail('closed in the handshake')
    const onAbort = () => fail('the caller left')
    const end = () => {
      alarm.stop()
      signal?.removeEventListener('abort', onAbort)
      tlsSocket
        .off('error', onError)
        .off('close', onClose)
        .on('error', () => {})
    }
    socket.on('error', () => {})
    tlsSocket.on('error', onError).on('close', onClose)
    signal?.addEventListener('abort', onAbort)
    tlsSocket.once('secureConnect', () => {
      end()
      const tls = { version: tlsSocket.getProtocol() ?? 'unknown', verified: tlsSocket.authorized }
      const flaw = tlsSocket.authorized ? undefined : cleanText(flawOf(tlsSocket))
      resolve({ kind: 'upgraded', socket: tlsSocket, tls, flaw })
    })
  })
}

/** Node has names for the usual flaws, such as CERT_HAS_EXPIRED. The others are UNSPECIFIED: OpenSSL says more. */
function flawOf(tlsSocket: TLSSocket): string {
  const name = String(tlsSocket.authorizationError)
  const { ssl } = tlsSocket as { ssl?: { verifyError?(): Error | undefined } }
  return name === 'UNSPECIFIED' ? (ssl?.verifyError?.()?.message ?? name) : name
}

/** Hosts whose TLS is broken and is not tried for a while. At most `max` of them: the oldest leaves first. */
export function createCleartextHosts(rememberMs: number, max = 1_000) {
  const untilMs = createBoundedMap<number>({ maxEntries: max })
  return {
    has: (host: string) => (untilMs.get(host) ?? 0) > performance.now(),
    add: (host: string) => untilMs.set(host, performance.now() + rememberMs),
  }
}
