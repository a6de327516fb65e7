import { isIP, type Socket } from 'node:net'
import { connect, createSecureContext, DEFAULT_CIPHERS, type SecureContext, type TLSSocket } from 'node:tls'
import { cleanText } from '../../net/clean-text.ts'
import { endedBy, isClockWrong, isDateFlaw } from '../../net/own-errors.ts'
import { Alarm, unblocked } from './alarm.ts'
import type { Host, Site, TlsDemand, TlsEvidence } from './attempt.ts'
import type { DanePolicy } from './dane.ts'
import { certificatesOf, daneFlaw, ISSUER_EXPIRED } from './dane-certificate.ts'

// STARTTLS: what a site demands of it, and the handshake.

export interface SecuredSocket {
  socket: Socket
  tls: TlsEvidence
  /** Why the certificate is not verified, such as CERT_HAS_EXPIRED. */
  flaw?: string
}

export type TlsUpgrade =
  | ({ kind: 'upgraded' } & SecuredSocket)
  /** `silentMs` and `keptMs` as in `BrokenWire`. */
  | { kind: 'failed'; how: FailedHandshake; detail: string; silentMs?: number; keptMs: number }

type FailedHandshake = 'closed' | 'timeout' | 'local'

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

/** A stored MTA-STS policy that a newer one may have replaced. */
export const UNCHECKED_POLICY = 'an unchecked MTA-STS policy' satisfies TlsDemand

/** The site with the demand for verified TLS. It shares no connections with the site without that demand. */
export function demandTls(site: Site, by: TlsDemand): Site {
  return site.tlsDemandedBy
    ? site
    : { ...site, key: `${site.key} for ${by}`, name: site.name ?? site.key, tlsDemandedBy: by }
}

/** What the TLS of a host must fulfil; without it TLS is used where it is offered. */
export interface TlsRule {
  by: TlsDemand
  /** Whether the certificate must prove to be the host's. */
  mustVerify: boolean
  /** The records that prove it instead of the public authorities. */
  dane?: DanePolicy
}

/** Usable TLSA records go before all other demands, and other demands before records that are not usable. */
export function tlsRuleOf({ dane }: Host, demandedBy?: TlsDemand): TlsRule | undefined {
  if (dane && dane.records.length > 0) return { by: 'DANE', mustVerify: true, dane }
  if (demandedBy) return { by: demandedBy, mustVerify: true }
  return dane && { by: 'DANE', mustVerify: false }
}

interface Handshake {
  /** The exchanger's name, for SNI and for the check of its certificate. */
  name: string
  secureContext: SecureContext
  rule?: TlsRule
  untilMs: number
  signal?: AbortSignal
}

/** The handshake of STARTTLS (RFC 3207) on a connected socket without other listeners; a failure closes the socket. */
export function upgradeToTls(socket: Socket, handshake: Handshake): Promise<TlsUpgrade> {
  const { name, secureContext, rule, untilMs, signal } = handshake
  return new Promise((resolve) => {
    const servername = isIP(name) === 0 ? (rule?.dane?.baseDomain ?? name) : undefined
    const tlsSocket = connect({ socket, host: name, servername, secureContext, rejectUnauthorized: false })
    // A bare timer may fire early; the caller then decides whose time is over, and must find it over.
    const [startedAtMs, stalledBeforeMs] = [unblocked.now(), unblocked.stalledMs()]
    const alarm = new Alarm(() => fail('no handshake in time', 'timeout', unblocked.now() - startedAtMs))
    alarm.set(untilMs)
    const fail = (detail: string, how: FailedHandshake = 'closed', silentMs?: number) => {
      end()
      tlsSocket.destroy()
      const keptMs = unblocked.stalledMs() - stalledBeforeMs
      resolve({ kind: 'failed', how, detail: cleanText(detail), silentMs, keptMs })
    }
    const onError = ({ code = '', message }: NodeJS.ErrnoException) => fail(code || message, endedBy(code))
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
      const version = tlsSocket.getProtocol() ?? 'unknown'
      const flaw = flawOf(tlsSocket, rule)
      const by = rule?.dane ? 'dane' : rule?.by === 'MTA-STS' || rule?.by === UNCHECKED_POLICY ? 'mta-sts' : 'pkix'
      const tls: TlsEvidence = flaw === undefined ? { version, verified: true, by } : { version, verified: false }
      resolve({ kind: 'upgraded', socket: tlsSocket, tls, flaw })
    })
  })
}

/** Why the certificate does not prove to be the host's. */
function flawOf(socket: TLSSocket, rule?: TlsRule): string | undefined {
  if (!rule?.dane) return socket.authorized ? undefined : cleanText(pkixFlaw(socket))
  try {
    return daneFlaw(certificatesOf(socket), rule.dane, new Date())
  } catch {
    return 'its certificates cannot be read'
  }
}

/** Whether a flaw may be one of our clock: a certificate is judged by its dates only while that is right. */
export function isFlawOfClock(flaw: string, clockErrorMs: number): boolean {
  return (isDateFlaw(flaw) || flaw === ISSUER_EXPIRED) && isClockWrong(clockErrorMs)
}

/** Node has names for the usual flaws, such as CERT_HAS_EXPIRED. The others are UNSPECIFIED: OpenSSL says more. */
function pkixFlaw(tlsSocket: TLSSocket): string {
  const name = String(tlsSocket.authorizationError)
  const { ssl } = tlsSocket as { ssl?: { verifyError?(): Error | undefined } }
  return name === 'UNSPECIFIED' ? (ssl?.verifyError?.()?.message ?? name) : name
}
