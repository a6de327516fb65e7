import { isIP, type Socket } from 'node:net'
import { connect, createSecureContext, DEFAULT_CIPHERS, type SecureContext } from 'node:tls'
import { cleanText } from '../clean-text.ts'
import { createAlarm } from './alarm.ts'
import type { Site, TlsDemand } from './attempt.ts'

export interface TlsState {
  version: string
  /** The certificate is valid, trusted and for the name of the exchanger. Required only of a site that demands TLS. */
  verified: boolean
}

export interface Secured {
  socket: Socket
  tls: TlsState
  /** Why it is not verified, such as CERT_HAS_EXPIRED. */
  flaw?: string
}

export type Upgraded = ({ kind: 'upgraded' } & Secured) | { kind: 'failed'; detail: string }

/** TLS 1.2 or later. Where it is not demanded, a weak or foreign certificate still beats cleartext, which is what would be used instead. */
export function createTlsContexts() {
  const minVersion = 'TLSv1.2'
  return {
    demanded: createSecureContext({ minVersion }),
    opportunistic: createSecureContext({ minVersion, ciphers: `${DEFAULT_CIPHERS}:@SECLEVEL=0` }),
  }
}

/** The site when nothing may be sent to it but over verified TLS. It shares no connections with what is sent without that demand. */
export function demandTls(site: Site, by: TlsDemand): Site {
  return site.tlsDemandedBy ? site : { ...site, key: `${site.key} for ${by}`, tlsDemandedBy: by }
}

interface Handshake {
  /** The exchanger's, for SNI and for the look at its certificate. */
  name: string
  secureContext: SecureContext
  untilMs: number
  signal?: AbortSignal
}

/** The handshake of STARTTLS (RFC 3207) on a connected socket nobody else listens to, which is closed if it fails. */
export function upgradeToTls(socket: Socket, handshake: Handshake): Promise<Upgraded> {
  const { name, secureContext, untilMs, signal } = handshake
  return new Promise((resolve) => {
    const servername = isIP(name) === 0 ? name : undefined
    const secured = connect({ socket, host: name, servername, secureContext, rejectUnauthorized: false })
    // Never too early, as a bare timer is: whose time was over is asked afterwards.
    const alarm = createAlarm(() => fail('no handshake in time'))
    alarm.set(untilMs)
    const fail = (detail: string) => {
      end()
      secured.destroy()
      resolve({ kind: 'failed', detail: cleanText(detail) })
    }
    const onError = (error: NodeJS.ErrnoException) => fail(error.code ?? error.message)
    const onClose = () => fail('closed in the handshake')
    const onAbort = () => fail('the caller left')
    const end = () => {
      alarm.stop()
      signal?.removeEventListener('abort', onAbort)
      secured
        .off('error', onError)
        .off('close', onClose)
        .on('error', () => {})
    }
    socket.on('error', () => {})
    secured.on('error', onError).on('close', onClose)
    signal?.addEventListener('abort', onAbort)
    secured.once('secureConnect', () => {
      end()
      const tls = { version: secured.getProtocol() ?? 'unknown', verified: secured.authorized }
      const flaw = secured.authorized ? undefined : cleanText(String(secured.authorizationError))
      resolve({ kind: 'upgraded', socket: secured, tls, flaw })
    })
  })
}

/** Hosts whose TLS is broken: not asked for it again for a while. Bounded; the oldest is forgotten first. */
export function createCleartextHosts(rememberMs: number, max = 1_000) {
  const untilMs = new Map<string, number>()
  return {
    has: (host: string) => (untilMs.get(host) ?? 0) > performance.now(),
    add(host: string) {
      untilMs.delete(host)
      if (untilMs.size >= max) untilMs.delete(untilMs.keys().next().value!)
      untilMs.set(host, performance.now() + rememberMs)
    },
  }
}
